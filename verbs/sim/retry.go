package sim

import "heddle/verbs"

// rest waits until the peer has a receive.
func (q *qp) rest(p *packet) {
	if q.resting {
		return
	}
	if most := int(q.attr.RNRRetries.Count()); most < 7 && q.rnrs == most {
		q.stop(q.requestOf(p.seq), verbs.StatusRNRRetryExceeded)
		return
	}
	q.rnrs++
	q.retries = 0 // the peer is there
	q.resting = true
	q.net.schedule(event{at: q.net.now + p.timer, kind: readiness, qp: q, epoch: q.epoch})
}

// peerReady sends again what the peer was not ready for.
func (q *qp) peerReady() {
	if !q.resting {
		return
	}
	q.resting = false
	q.progress = q.net.now
	q.sendAgain(q.unanswered)
	q.settle()
}

// sendAgain sends all packets again that were not answered, from one on.
func (q *qp) sendAgain(from uint64) {
	if q.resting {
		return
	}
	for number := q.done; number <= q.sending && number < q.sends.Next() && number < q.halt; number++ {
		wr, f := q.sends.At(number), q.flight(number)
		packets := f.packets
		if number == q.sending {
			packets = q.sent
		}
		for i := range packets {
			if seq := f.first + uint64(i); seq >= from && !q.isAnswered(seq) && !q.send(wr, f, number, i) {
				return
			}
		}
	}
}

// startTimer has a timeout come, unless one is to come anyway.
func (q *qp) startTimer() {
	if q.timing || q.attr.Type != verbs.RC {
		return
	}
	q.timing = true
	q.net.schedule(event{at: q.net.now + q.net.lasting(q.attr.Timeout), kind: timeout, qp: q, epoch: q.epoch})
}

// timedOut looks whether an answer is overdue.
func (q *qp) timedOut() {
	q.timing = false
	if !q.receives() || q.unanswered == q.seq {
		return
	}
	due := q.progress + q.net.lasting(q.attr.Timeout)
	if q.resting || q.net.now < due {
		q.timing = true
		at := max(due, q.net.now+1)
		if q.resting {
			at = q.net.now + q.net.lasting(q.attr.Timeout)
		}
		q.net.schedule(event{at: at, kind: timeout, qp: q, epoch: q.epoch})
		return
	}
	if q.retries == int(q.attr.Retries.Count()) {
		q.giveUp(verbs.StatusRetryExceeded)
		return
	}
	q.retries++
	q.progress = q.net.now
	q.sendAgain(q.unanswered)
	q.startTimer()
	q.settle()
}

package sim

import "heddle/verbs"

// isDone takes in that a packet was answered.
func (q *qp) isDone(seq uint64) {
	if seq >= q.seq || q.isAnswered(seq) {
		return
	}
	w, m := bit(seq)
	q.answers[w] |= m
	number := q.requestOf(seq)
	f := q.flight(number)
	f.left--
	if f.left == 0 && waitsForAnswer(q.sends.At(number).Op) {
		q.reads--
	}
	for q.unanswered < q.seq && q.isAnswered(q.unanswered) {
		q.unanswered++
		q.retries, q.rnrs, q.progress = 0, 0, q.net.now
	}
}

// requestOf is the request that a packet is of.
func (q *qp) requestOf(seq uint64) uint64 {
	number := q.done
	for number < q.sending && seq >= q.flight(number).first+uint64(q.flight(number).packets) {
		number++
	}
	return number
}

// acknowledged takes an acknowledgement.
func (q *qp) acknowledged(p *packet) {
	if !q.receives() || p.seq >= q.seq {
		return
	}
	if q.net.order == anyhow {
		q.isDone(p.seq)
	} else {
		q.allBefore(p.seq + 1)
	}
	q.settle()
}

// allBefore takes in a cumulative acknowledgement.
func (q *qp) allBefore(seq uint64) {
	for s := max(q.unanswered, q.cumulative); s < seq; s++ {
		if w, m := bit(s); q.asks[w]&m == 0 {
			q.isDone(s)
		}
	}
	q.cumulative = max(q.cumulative, seq)
}

// answered takes the data of a READ, or an atomic's result.
func (q *qp) answered(p *packet) {
	if !q.receives() || p.seq >= q.seq || q.isAnswered(p.seq) {
		return
	}
	number := q.requestOf(p.seq)
	wr, f := q.sends.At(number), q.flight(number)
	if p.seq > f.first && !q.isAnswered(p.seq-1) && q.net.cfg.Profile.FetchChunk >= verbs.AllBytes {
		return // what comes before it would be fetched after it
	}
	offset := int(p.seq-f.first) * q.mtu
	if waitsForAnswer(wr.Op) && len(p.data) == min(q.mtu, f.length-offset) {
		if q.scatter(wr.SGEs, offset, p.data) {
			q.isDone(p.seq)
		} else {
			q.stop(number, verbs.StatusLocalProtection)
		}
	} else {
		q.stop(number, verbs.StatusBadResponse)
	}
	q.settle()
}

// refused takes a negative acknowledgement.
func (q *qp) refused(p *packet) {
	if !q.receives() || p.seq >= q.seq || p.seq < q.unanswered {
		return
	}
	switch p.why {
	case nakSequence:
		q.sendAgain(p.seq)
	case nakNotReady:
		q.rest(p)
	case nakInvalid:
		q.stop(q.requestOf(p.seq), verbs.StatusRemoteInvalidRequest)
	case nakAccess:
		q.stop(q.requestOf(p.seq), verbs.StatusRemoteAccess)
	case nakOperation:
		q.stop(q.requestOf(p.seq), verbs.StatusRemoteOperation)
	case nakNone:
	}
	q.settle()
}

// pulled answers the target of a WRITE, which asks for its data.
func (q *qp) pulled(p *packet) {
	if !q.receives() || p.seq >= q.seq || q.isAnswered(p.seq) {
		return
	}
	number := q.requestOf(p.seq)
	wr, f := q.sends.At(number), q.flight(number)
	if !isWrite(wr.Op) {
		return
	}
	r := q.packetOf(wr, f, number, int(p.seq-f.first))
	if !q.load(r, wr) {
		q.lostMemory(r, number)
		return
	}
	q.net.transmit(r)
}

package sim

import (
	"math"

	"heddle/verbs"
	"heddle/verbs/internal/queue"
)

// window is how many packets of one QP are under way at most.
const window = 256

// flight is what becomes of a posted request.
type flight struct {
	first   uint64 // its first packet's number
	packets int
	left    int // packets that are not answered
	length  int // bytes
}

// requester is the half of a QP that sends requests and waits for answers.
// Requests are numbered as in sends, packets by seq.
type requester struct {
	sends   *queue.Sends
	flights []flight // by number of the request, modulo
	done    uint64   // all requests before it have completed
	sending uint64   // the request whose packets are sent now
	sent    int      // those of its packets that were
	halt    uint64   // the request that fails as soon as all before it are done
	status  verbs.Status

	seq        uint64 // of the next packet
	unanswered uint64 // the first packet without an answer
	cumulative uint64 // acknowledged are those before it, unless they need an answer
	answers    [window / 64]uint64
	asks       [window / 64]uint64 // packets that an acknowledgement is not enough for
	reads      int                 // READs and atomics under way

	retries, rnrs int
	progress      ticks // when an answer came last
	timing        bool  // a timeout is scheduled
	resting       bool  // until the peer is ready
	drained       bool  // the event was made
}

func (r *requester) make(a *verbs.QPAttr) {
	r.sends, r.flights = queue.NewSends(a), make([]flight, a.SendWR)
	r.halt = math.MaxUint64
}

// forget makes it as new.
func (r *requester) forget() {
	for r.sends.Len() > 0 {
		r.sends.Pop()
	}
	next := r.sends.Next()
	*r = requester{sends: r.sends, flights: r.flights, done: next, sending: next, halt: math.MaxUint64}
}

func (r *requester) flight(number uint64) *flight {
	return &r.flights[number%uint64(len(r.flights))]
}

func bit(seq uint64) (word int, mask uint64) {
	i := seq % window
	return int(i / 64), 1 << (i % 64)
}

func (r *requester) isAnswered(seq uint64) bool {
	w, m := bit(seq)
	return seq < r.unanswered || r.answers[w]&m != 0
}

// pump sends what may be sent.
func (q *qp) pump() {
	if q.state != verbs.RTS && (q.state != verbs.SQD || q.sent == 0) || q.resting {
		return
	}
	for q.sending < q.sends.Next() && q.sending < q.halt {
		if q.state == verbs.SQD && q.sent == 0 {
			return
		}
		wr, f := q.sends.At(q.sending), q.flight(q.sending)
		if q.sent == 0 && !q.begin(wr, f) || !q.sendRest(wr, f) {
			return
		}
		q.sending++
		q.sent = 0
		if q.attr.Type != verbs.RC {
			q.unanswered = q.seq
			q.retire()
		}
	}
}

// begin looks at a request before its first packet; false is not now, or never.
func (q *qp) begin(wr *verbs.SendWR, f *flight) bool {
	if wr.Flags&verbs.Fence != 0 && q.reads > 0 {
		return false
	}
	asks := waitsForAnswer(wr.Op)
	if asks && q.reads == q.mostReads && q.mostReads > 0 {
		return false
	}
	length, status := q.measure(wr)
	if status != verbs.StatusOK {
		q.stop(q.sending, status)
		return false
	}
	packets := max(1, (length+q.mtu-1)/q.mtu)
	*f = flight{first: q.seq, packets: packets, left: packets, length: length}
	if asks {
		q.reads++
	}
	return true
}

// measure is the length of a request, which its own memory must allow.
func (q *qp) measure(wr *verbs.SendWR) (length int, status verbs.Status) {
	if wr.Flags&verbs.Inline != 0 {
		return len(wr.InlineData), q.fits(len(wr.InlineData))
	}
	need := verbs.Access(0)
	if waitsForAnswer(wr.Op) {
		need = verbs.LocalWrite
	}
	for _, s := range wr.SGEs {
		if _, status := q.pd.ctx.dev.regions.Local(q.pd.number, s, need); status != verbs.StatusOK {
			return 0, status
		}
		length += int(s.Length)
	}
	if waitsForAnswer(wr.Op) && wr.Op != verbs.OpRead && length != 8 {
		return 0, verbs.StatusLocalLength
	}
	return length, q.fits(length)
}

func (q *qp) fits(length int) verbs.Status {
	most := q.net.cfg.Profile.MaxMessage
	if most == 0 || q.attr.Type == verbs.UD {
		most = q.mtu // of one packet
	}
	if length > most {
		return verbs.StatusLocalLength
	}
	return verbs.StatusOK
}

// sendRest sends the packets of a request that the window allows, and tells
// whether those were all.
func (q *qp) sendRest(wr *verbs.SendWR, f *flight) bool {
	for q.sent < f.packets {
		if q.attr.Type == verbs.RC && q.seq-q.unanswered >= window {
			return false
		}
		w, m := bit(q.seq)
		q.answers[w] &^= m
		q.asks[w] &^= m
		if waitsForAnswer(wr.Op) {
			q.asks[w] |= m
		}
		if q.seq == q.unanswered {
			q.progress = q.net.now
		}
		q.seq++
		q.sent++
		if !q.send(wr, f, q.sending, q.sent-1) {
			return false
		}
	}
	return true
}

// send sends one packet of a request, for the first time or again.
func (q *qp) send(wr *verbs.SendWR, f *flight, number uint64, i int) bool {
	if q.attr.Type == verbs.UD {
		return q.sendDatagram(wr, f, number)
	}
	p := q.packetOf(wr, f, number, i)
	if q.net.cfg.Profile.PullWrites && isWrite(wr.Op) {
		p.asks = true // see pulled
	} else if !q.load(p, wr) {
		return q.lostMemory(p, number)
	}
	q.net.transmit(p)
	q.startTimer()
	return true
}

// lostMemory is a request whose memory is gone since it began.
func (q *qp) lostMemory(p *packet, number uint64) bool {
	q.net.free(p)
	q.stop(number, verbs.StatusLocalProtection)
	return false
}

// packetOf makes a packet of a request, without its payload.
func (q *qp) packetOf(wr *verbs.SendWR, f *flight, number uint64, i int) *packet {
	p := q.net.newPacket()
	if q.attr.Type == verbs.RC {
		p.kind = request
	} else {
		p.kind = datagram
	}
	p.op, p.seq, p.msg = wr.Op, f.first+uint64(i), number
	p.src, p.dst, p.srcEpoch, p.dstEpoch = q, q.remote, q.epoch, q.remote.epoch
	p.offset, p.total, p.last = i*q.mtu, f.length, i == f.packets-1
	p.length = min(q.mtu, f.length-p.offset)
	p.imm, p.solicited = wr.Imm, wr.Flags&verbs.Solicited != 0
	p.addr, p.rkey, p.compare, p.swap = wr.RemoteAddr, wr.RKey, wr.Compare, wr.Swap
	return p
}

// load copies a packet's payload, and tells whether its memory is still there.
func (q *qp) load(p *packet, wr *verbs.SendWR) bool {
	switch {
	case waitsForAnswer(wr.Op):
		return true
	case wr.Flags&verbs.Inline != 0:
		p.data = append(p.data, wr.InlineData[p.offset:p.offset+p.length]...)
		return true
	}
	skip := p.offset
	for _, s := range wr.SGEs {
		if skip >= int(s.Length) {
			skip -= int(s.Length)
			continue
		}
		b, status := q.pd.ctx.dev.regions.Local(q.pd.number, s, 0)
		if status != verbs.StatusOK {
			return false
		}
		b = b[skip:]
		skip = 0
		p.data = append(p.data, b[:min(len(b), p.length-len(p.data))]...)
		if len(p.data) == p.length {
			break
		}
	}
	return len(p.data) == p.length
}

// stop has a request fail once all before it are done.
func (q *qp) stop(number uint64, s verbs.Status) {
	if number < q.halt {
		q.halt, q.status = number, s
	}
	q.retire()
}

// settle completes what is done, and sends what that makes room for.
func (q *qp) settle() {
	q.retire()
	q.pump()
	if q.state != verbs.SQD {
		q.drained = false
	} else if !q.drained && q.done == q.sending && q.sent == 0 {
		q.drained = true
		q.pd.ctx.tell(verbs.Event{Type: verbs.EventSQDrained, QP: q, QPN: q.number})
	}
}

// retire completes requests in order.
func (q *qp) retire() {
	for q.done < q.sending && q.done < q.halt {
		f := q.flight(q.done)
		if q.unanswered < f.first+uint64(f.packets) {
			return
		}
		number := q.done
		q.done++
		q.complete(number, verbs.StatusOK)
		if q.state == verbs.Err { // its completion was one too many
			return
		}
	}
	if q.done == q.halt {
		q.failed(q.status)
	}
}

// complete makes a request's completion where one is wanted. The requests before
// it that made none keep their places until now, as a device learns by a
// completion that they are free.
func (q *qp) complete(number uint64, s verbs.Status) {
	wr := q.sends.At(number)
	if !q.attr.SigAll && wr.Flags&verbs.Signaled == 0 && s == verbs.StatusOK {
		return
	}
	wc := verbs.WC{ID: wr.ID, Status: s, QPN: q.number}
	if s == verbs.StatusOK {
		wc.Op, wc.ByteLen = wr.Op, uint32(q.flight(number).length)
	}
	for q.sends.First() <= number {
		q.sends.Pop()
	}
	q.sendCQ.Push(wc, true)
}

// failed is the oldest request that is not done failing, and with it the QP, or
// of datagrams its send queue.
func (q *qp) failed(s verbs.Status) {
	q.halt = math.MaxUint64
	if q.done == q.sends.Next() {
		q.fail()
		return
	}
	number := q.done
	q.done++
	if q.attr.Type != verbs.RC {
		q.state = verbs.SQE
		q.complete(number, s)
		q.flushSends()
		return
	}
	q.complete(number, s)
	q.fail()
}

// giveUp has the oldest request fail now.
func (q *qp) giveUp(s verbs.Status) {
	q.halt = math.MaxUint64
	q.failed(s)
}

// flushSends completes all that was not done.
func (q *qp) flushSends() {
	for q.sends.First() < q.done {
		q.sends.Pop()
	}
	for q.done < q.sends.Next() {
		number := q.done
		q.done++
		q.complete(number, verbs.StatusFlushed)
	}
	q.sending, q.sent, q.unanswered, q.cumulative = q.done, 0, q.seq, q.seq
	q.reads, q.halt, q.resting = 0, math.MaxUint64, false
}

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

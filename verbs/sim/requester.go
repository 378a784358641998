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
		local := isLocal(wr.Op)
		q.sending++
		q.sent = 0
		if q.attr.Type != verbs.RC {
			q.unanswered = q.seq
		}
		if q.attr.Type != verbs.RC || local {
			q.retire()
		}
	}
}

// begin looks at a request before its first packet; false is not now, or never.
func (q *qp) begin(wr *verbs.SendWR, f *flight) bool {
	if wr.Flags&verbs.Fence != 0 && q.reads > 0 {
		return false
	}
	if isLocal(wr.Op) {
		*f = flight{first: q.seq}
		status := q.doLocal(wr)
		if status != verbs.StatusOK {
			q.stop(q.sending, status)
		}
		return status == verbs.StatusOK
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

package engine

import (
	"math"

	"heddle/ib"
	"heddle/packet"
	"heddle/verbs"
	"heddle/verbs/internal/queue"
)

const (
	// window is how many packets of one QP are under way at most.
	window = 256
	// chunk is how many packets one request of a READ asks for at most.
	chunk = 32
	// askEvery is how many packets of a long message have one that asks for an
	// acknowledgement.
	askEvery = 32
)

// flight is what becomes of a posted request.
type flight struct {
	first   uint64 // its first packet's number
	packets int    // numbers that it takes: of a READ, those of the answers
	length  int    // bytes
}

// requester is the half of a QP that sends requests and waits for answers.
type requester struct {
	sends   *queue.Sends
	flights []flight // by number of the request, modulo
	done    uint64   // all requests before it have completed
	begun   uint64   // all requests before it have numbers
	at      uint64   // the request whose packets are sent now
	sent    int      // those of its packets that were
	halt    uint64   // the request that fails as soon as all before it are done
	status  verbs.Status

	next    uint64 // number of the next new packet
	unacked uint64 // the first packet that was not answered
	highest uint64 // all before it were sent once
	asks    asks   // READs and atomics under way

	retries, rnrs int
	resting       bool // until the peer is ready
	gap           bool // was told of, and nothing came since
	drained       bool // the event was made
}

// asks are the ends of the requests that wait for data, in order.
type asks struct {
	ends        []uint64
	first, next int // count up
	most        int
}

func (a *asks) len() int   { return a.next - a.first }
func (a *asks) full() bool { return a.len() >= a.most }

func (a *asks) push(end uint64) {
	a.ends[a.next%len(a.ends)] = end
	a.next++
}

// before forgets those that were answered.
func (a *asks) before(seq uint64) {
	for a.first < a.next && a.ends[a.first%len(a.ends)] <= seq {
		a.first++
	}
}

func (r *requester) make(a *verbs.QPAttr) {
	r.sends, r.flights = queue.NewSends(a), make([]flight, a.SendWR)
	r.asks.ends = make([]uint64, max(1, a.Reads))
	r.asks.most = len(r.asks.ends)
	r.halt = math.MaxUint64
}

// forget makes it as new.
func (r *requester) forget() {
	for r.sends.Len() > 0 {
		r.sends.Pop()
	}
	next := r.sends.Next()
	*r = requester{
		sends: r.sends, flights: r.flights, done: next, begun: next, at: next, halt: math.MaxUint64,
		asks: asks{ends: r.asks.ends, most: len(r.asks.ends)},
	}
}

func (r *requester) flight(number uint64) *flight { return &r.flights[number%uint64(len(r.flights))] }

// PostSend takes a request that was checked. The error wraps ErrQueueFull.
func (q *QP) PostSend(wr *verbs.SendWR) error {
	if q.state == verbs.Err || q.state == verbs.SQE {
		q.sendCQ.Push(verbs.WC{ID: wr.ID, Status: verbs.StatusFlushed, QPN: q.number}, true)
		return nil
	}
	return q.sends.Push(wr)
}

// Pump sends what may be sent. It is called after PostSend.
func (q *QP) Pump() {
	for !q.resting && q.at < q.sends.Next() && q.at < q.halt && (q.state == verbs.RTS || q.state == verbs.SQD) {
		wr, f := q.sends.At(q.at), q.flight(q.at)
		if wr.Flags&verbs.Fence != 0 && q.sent == 0 && q.asks.len() > 0 {
			return
		}
		if q.at == q.begun && (q.state != verbs.RTS || !q.start(wr, f)) || !q.sendRest(wr, f) {
			return
		}
		q.at++
		q.sent = 0
		if q.Attr.Type != verbs.RC {
			q.unacked = q.next
			q.retire()
		}
	}
}

// start gives a request its numbers; false is that it fails.
func (q *QP) start(wr *verbs.SendWR, f *flight) bool {
	length, status := q.measure(wr)
	if status != verbs.StatusOK {
		q.stop(q.at, status)
		return false
	}
	*f = flight{first: q.next, packets: max(1, (length+q.mtu-1)/q.mtu), length: length}
	if wr.Op.Atomic() {
		f.packets = 1
	}
	q.next += uint64(f.packets)
	q.begun++
	return true
}

// measure is the length of a request, which its own memory must allow.
func (q *QP) measure(wr *verbs.SendWR) (length int, status verbs.Status) {
	if wr.Flags&verbs.Inline != 0 {
		return len(wr.InlineData), q.fits(len(wr.InlineData))
	}
	need := verbs.Access(0)
	if wr.Op.Reads() {
		need = verbs.LocalWrite
	}
	for _, s := range wr.SGEs {
		if _, status := q.engine.cfg.Regions.Local(q.pd, s, need); status != verbs.StatusOK {
			return 0, status
		}
		length += int(s.Length)
	}
	if wr.Op.Atomic() && length != 8 {
		return 0, verbs.StatusLocalLength
	}
	return length, q.fits(length)
}

// MaxMessage is how many bytes a message has at most.
const MaxMessage = 1 << 30

func (q *QP) fits(length int) verbs.Status {
	most := MaxMessage
	if q.Attr.Type == verbs.UD {
		most = q.mtu
	}
	if length > most {
		return verbs.StatusLocalLength
	}
	return verbs.StatusOK
}

// sendRest sends the packets of a request that the window allows, and tells
// whether those were all.
func (q *QP) sendRest(wr *verbs.SendWR, f *flight) bool {
	for q.sent < f.packets {
		seq := f.first + uint64(q.sent)
		if q.Attr.Type == verbs.RC && seq-q.unacked >= window {
			return false
		}
		n := 1
		if wr.Op.Reads() {
			if q.asks.full() {
				return false
			}
			n = min(chunk-q.sent%chunk, f.packets-q.sent)
		}
		if !q.send(wr, f, q.sent, n) {
			q.stop(q.at, verbs.StatusLocalProtection) // its memory is gone since it began
			return false
		}
		q.sent += n
		q.sentUpTo(seq, uint64(n), wr.Op.Reads())
	}
	return true
}

// sentUpTo takes in that packets were sent.
func (q *QP) sentUpTo(seq, n uint64, asks bool) {
	if q.Attr.Type != verbs.RC {
		return
	}
	if asks {
		q.asks.push(seq + n)
	}
	if seq < q.highest {
		q.engine.Stats.Resent++
	}
	q.highest = max(q.highest, seq+n)
	if q.deadline == 0 {
		q.wait(q.engine.now + q.Attr.Timeout)
	}
}

// send sends packet i of a request, or asks for n of a READ from i on. False is
// that its memory is gone.
func (q *QP) send(wr *verbs.SendWR, f *flight, i, n int) bool {
	e := q.engine
	first, last := i == 0, i == f.packets-1
	h := q.header(0, wire(q.initial, f.first+uint64(i)))
	offset := i * q.mtu
	length := min(q.mtu, f.length-offset)
	switch {
	case wr.Op == verbs.OpRead:
		h.BTH.Opcode |= packet.ReadRequest
		h.RETH = packet.RETH{Addr: wr.RemoteAddr + uint64(offset), RKey: wr.RKey, Length: uint32(min(n*q.mtu, f.length-offset))}
		length = 0
	case wr.Op.Atomic():
		h.BTH.Opcode |= packet.CompareSwap
		h.Atomic = packet.AtomicETH{Addr: wr.RemoteAddr, RKey: wr.RKey, Swap: wr.Swap, Compare: wr.Compare}
		if wr.Op == verbs.OpFetchAdd {
			h.BTH.Opcode++
			h.Atomic.Compare = 0
		}
		length = 0
	default:
		h.BTH.Opcode |= opcode(wr.Op, first, last)
		h.RETH = packet.RETH{Addr: wr.RemoteAddr, RKey: wr.RKey, Length: uint32(f.length)}
		h.Imm = wr.Imm
		h.BTH.Solicited = last && wr.Flags&verbs.Solicited != 0
		h.BTH.AckReq = q.Attr.Type == verbs.RC && (last || i%askEvery == askEvery-1)
	}
	path := &q.path
	if q.Attr.Type == verbs.UD {
		path = q.address(wr, h)
	}
	multicast := h.BTH.QPN == ib.MulticastQPN
	h.BTH.Pad = packet.Padding(length)
	b, ok := q.gather(h.AppendTo(e.begin()), wr, offset, length)
	if !ok {
		return false
	}
	b = append(b, "\x00\x00\x00"[:h.BTH.Pad]...)
	e.end(path, b)
	if q.Attr.Type == verbs.UD && multicast {
		q.copies(path, b)
	}
	return true
}

// opcode is that of a SEND's or WRITE's packet.
func opcode(op verbs.Op, first, last bool) packet.Opcode {
	o := packet.SendMiddle
	switch {
	case first && last:
		o = packet.SendOnly
	case first:
		o = packet.SendFirst
	case last:
		o = packet.SendLast
	}
	if last && op.HasImm() {
		o++
	}
	if op == verbs.OpWrite || op == verbs.OpWriteImm {
		o += packet.WriteFirst
	}
	return o
}

// gather appends a part of a request's data, and tells whether its memory is
// still there.
func (q *QP) gather(to []byte, wr *verbs.SendWR, offset, length int) ([]byte, bool) {
	if length == 0 {
		return to, true
	}
	if wr.Flags&verbs.Inline != 0 {
		return append(to, wr.InlineData[offset:offset+length]...), true
	}
	for _, s := range wr.SGEs {
		if offset >= int(s.Length) {
			offset -= int(s.Length)
			continue
		}
		b, status := q.engine.cfg.Regions.Local(q.pd, s, 0)
		if status != verbs.StatusOK {
			return to, false
		}
		b = b[offset:]
		offset = 0
		n := min(len(b), length)
		to = append(to, b[:n]...)
		if length -= n; length == 0 {
			return to, true
		}
	}
	return to, false
}

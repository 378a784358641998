package engine

import (
	"unsafe"

	"heddle/packet"
	"heddle/verbs"
)

// message is what is coming.
type message uint8

const (
	nothing message = iota
	sending
	writing
	dropping // of the unreliable services
)

// responder is the half of a QP that executes what the peer asks for.
type responder struct {
	recvs  *Receives
	origin uint32 // PSN of the peer's first request
	expect uint64 // number of the packet that comes next
	msn    uint32 // messages that are done
	nagged bool   // the peer was told that it is not its turn
	ackDue bool   // the QP is in engine.acking

	coming message
	offset int // bytes of the message that came
	total  int // of a WRITE
	addr   uint64
	rkey   uint32
	holds  bool // rx is a receive that was taken
	rx     rx

	results []result // of atomics, for duplicates
	oldest  int
}

// result is what an atomic gave.
type result struct {
	seq   uint64
	value uint64
	valid bool
}

func (r *responder) make(q *QP, recvs *Receives) {
	r.recvs = recvs
	r.results = make([]result, 2*max(1, q.Attr.Reads))
}

// forget makes it as new.
func (r *responder) forget() {
	clear(r.results)
	if !r.recvs.Shared {
		for r.recvs.Front() != nil {
			r.recvs.Pop()
		}
	}
	*r = responder{recvs: r.recvs, results: r.results, rx: rx{sges: r.rx.sges}, ackDue: r.ackDue}
}

// requested takes a request of RC.
func (q *QP) requested(h *packet.Headers, payload []byte) {
	seq, ok := unwire(h.BTH.PSN, q.origin, q.expect)
	switch {
	case !ok:
	case seq < q.expect:
		q.engine.Stats.Duplicates++
		q.repeated(h, seq)
	case seq > q.expect:
		if !q.nagged {
			q.nagged = true
			q.nak(packet.NAKSequence)
		}
	default:
		q.execute(h, payload)
	}
}

// execute does what a packet asks for, whose turn it is.
func (q *QP) execute(h *packet.Headers, payload []byte) {
	op := h.BTH.Opcode.Operation()
	switch {
	case q.coming == nothing != starts(op) || !q.wellFormed(op, payload):
		q.refuse(packet.NAKInvalid)
	case op <= packet.SendOnlyImm:
		q.executeSend(h, payload)
	case op <= packet.WriteOnlyImm:
		q.executeWrite(h, payload)
	case op == packet.ReadRequest:
		q.executeRead(h)
	case op == packet.CompareSwap || op == packet.FetchAdd:
		q.executeAtomic(h)
	default: // an invalidation, which nobody here has windows for
		q.refuse(packet.NAKInvalid)
	}
}

// starts tells whether an operation begins a message.
func starts(op packet.Opcode) bool {
	switch op {
	case packet.SendMiddle, packet.SendLast, packet.SendLastImm, packet.WriteMiddle, packet.WriteLast, packet.WriteLastImm, packet.SendLastInvalidate:
		return false
	default:
		return true
	}
}

// ends tells whether it ends one.
func ends(op packet.Opcode) bool {
	switch op {
	case packet.SendFirst, packet.SendMiddle, packet.WriteFirst, packet.WriteMiddle:
		return false
	default:
		return true
	}
}

// hasImm tells whether it carries an immediate.
func hasImm(op packet.Opcode) bool {
	return op == packet.SendLastImm || op == packet.SendOnlyImm || op == packet.WriteLastImm || op == packet.WriteOnlyImm
}

// wellFormed tells whether a packet goes on with the message that comes, and has
// as many bytes as it may.
func (q *QP) wellFormed(op packet.Opcode, payload []byte) bool {
	write := op >= packet.WriteFirst && op <= packet.WriteOnlyImm
	switch {
	case q.coming == sending && write || q.coming == writing && !write && op <= packet.SendOnlyImm:
		return false
	case !ends(op):
		return len(payload) == q.mtu
	case !starts(op):
		return len(payload) > 0 && len(payload) <= q.mtu
	default:
		return len(payload) <= q.mtu
	}
}

// executeSend takes a packet of a SEND.
func (q *QP) executeSend(h *packet.Headers, payload []byte) {
	op := h.BTH.Opcode.Operation()
	if starts(op) {
		if !q.take() {
			q.notReady()
			return
		}
		q.coming, q.offset = sending, 0
	}
	if fault, status := q.receive(payload); fault != 0 {
		q.refuseReceive(fault, status)
		return
	}
	q.offset += len(payload)
	if ends(op) {
		wc := verbs.WC{Op: verbs.OpRecv, ByteLen: uint32(q.offset)}
		if hasImm(op) {
			wc.Imm, wc.Flags = h.Imm, verbs.WithImm
		}
		q.coming = nothing
		q.msn++
		q.received(wc, h.BTH.Solicited)
	}
	q.executed(1, h.BTH.AckReq)
}

// executeWrite takes a packet of a WRITE.
func (q *QP) executeWrite(h *packet.Headers, payload []byte) {
	op := h.BTH.Opcode.Operation()
	if hasImm(op) && !q.ready() {
		q.notReady()
		return
	}
	if starts(op) {
		q.coming, q.offset, q.addr, q.rkey, q.total = writing, 0, h.RETH.Addr, h.RETH.RKey, int(h.RETH.Length)
	}
	if fault := q.write(payload, ends(op)); fault != 0 {
		q.refuse(fault)
		return
	}
	if ends(op) {
		q.coming = nothing
		q.msn++
		if hasImm(op) {
			q.take()
			q.received(verbs.WC{Op: verbs.OpRecvWriteImm, ByteLen: uint32(q.total), Imm: h.Imm, Flags: verbs.WithImm}, h.BTH.Solicited)
		}
	}
	q.executed(1, h.BTH.AckReq)
}

// write puts a packet of a WRITE to memory. All of its place must be there when
// it begins.
func (q *QP) write(payload []byte, last bool) packet.Syndrome {
	left := q.total - q.offset
	switch {
	case len(payload) > left || last && len(payload) != left:
		return packet.NAKInvalid
	case left > 0 && q.Attr.Access&verbs.RemoteWrite == 0:
		return packet.NAKAccess
	}
	to, status := q.remote(q.rkey, q.addr+uint64(q.offset), left, verbs.RemoteWrite)
	if status != verbs.StatusOK {
		return packet.NAKAccess
	}
	if len(payload) > 0 {
		place(to[:len(payload)], payload)
	}
	q.offset += len(payload)
	return 0
}

func (q *QP) remote(rkey uint32, addr uint64, n int, need verbs.Access) ([]byte, verbs.Status) {
	return q.engine.cfg.Regions.Remote(q.pd, uint32(q.number), rkey, addr, n, need)
}

// executed takes in that packets were executed, and acknowledges soon.
func (q *QP) executed(n uint64, wanted bool) {
	q.expect += n
	q.nagged = false
	if wanted {
		q.owe()
	}
}

// owe has an acknowledgement be sent by Flush.
func (q *QP) owe() {
	if !q.ackDue {
		q.ackDue = true
		q.engine.acking = append(q.engine.acking, q)
	}
}

// acknowledge tells the peer of all that was executed.
func (q *QP) acknowledge() {
	if !q.ackDue {
		return
	}
	q.ackDue = false
	if q.receives() && q.expect > 0 {
		q.reply(packet.Acknowledge, q.expect-1, packet.NoCredits, nil)
	}
}

// reply sends a packet that answers one.
func (q *QP) reply(op packet.Opcode, seq uint64, s packet.Syndrome, data []byte) {
	h := q.header(op, wire(q.origin, seq))
	h.AETH = packet.AETH{Syndrome: s, MSN: q.msn}
	h.BTH.Pad = packet.Padding(len(data))
	b := fetch(h.AppendTo(q.engine.begin()), data)
	q.engine.end(&q.path, append(b, "\x00\x00\x00"[:h.BTH.Pad]...))
}

// nak refuses the packet whose turn it is.
func (q *QP) nak(s packet.Syndrome) {
	q.acknowledge()
	q.reply(packet.Acknowledge, q.expect, s, nil)
}

// notReady refuses a message for now: there is no receive.
func (q *QP) notReady() {
	q.nagged = true
	q.nak(packet.RNR | packet.Syndrome(rnrCode(q.Attr.RNRTimer)))
}

// refuse refuses it for good, and takes the QP to the error state.
func (q *QP) refuse(s packet.Syndrome) {
	q.nak(s)
	what := verbs.EventQPAccess
	if s == packet.NAKInvalid {
		what = verbs.EventQPRequest
	}
	q.engine.cfg.Tell(what, q)
	q.fail()
}

// refuseReceive does so where its receive is to blame.
func (q *QP) refuseReceive(s packet.Syndrome, status verbs.Status) {
	q.nak(s)
	q.received(verbs.WC{Status: status}, true)
	q.engine.cfg.Tell(verbs.EventQPRequest, q)
	q.fail()
}

// executeRead answers a READ.
func (q *QP) executeRead(h *packet.Headers) {
	data, fault := q.readable(h)
	if fault != 0 {
		q.refuse(fault)
		return
	}
	seq := q.expect
	q.msn++
	q.executed(uint64(q.answers(len(data))), false)
	q.answer(seq, data)
}

// answers is how many packets carry that many bytes.
func (q *QP) answers(n int) int { return max(1, (n+q.mtu-1)/q.mtu) }

// readable is the memory of a READ.
func (q *QP) readable(h *packet.Headers) ([]byte, packet.Syndrome) {
	n := int(h.RETH.Length)
	switch {
	case n > MaxMessage:
		return nil, packet.NAKInvalid
	case n > 0 && q.Attr.Access&verbs.RemoteRead == 0:
		return nil, packet.NAKAccess
	}
	b, status := q.remote(h.RETH.RKey, h.RETH.Addr, n, verbs.RemoteRead)
	if status != verbs.StatusOK {
		return nil, packet.NAKAccess
	}
	return b, 0
}

// answer sends the data of a READ.
func (q *QP) answer(seq uint64, data []byte) {
	q.acknowledge()
	n := q.answers(len(data))
	for i := range n {
		op := packet.ReadResponseMiddle
		switch {
		case n == 1:
			op = packet.ReadResponseOnly
		case i == 0:
			op = packet.ReadResponseFirst
		case i == n-1:
			op = packet.ReadResponseLast
		}
		part := data[i*q.mtu : min(len(data), (i+1)*q.mtu)]
		q.reply(op, seq+uint64(i), packet.NoCredits, part)
	}
}

// executeAtomic does an atomic, and keeps its result.
func (q *QP) executeAtomic(h *packet.Headers) {
	a := h.Atomic
	if a.Addr%8 != 0 {
		q.refuse(packet.NAKInvalid)
		return
	}
	b, status := q.remote(a.RKey, a.Addr, 8, verbs.RemoteAtomic)
	if status != verbs.StatusOK || q.Attr.Access&verbs.RemoteAtomic == 0 {
		q.refuse(packet.NAKAccess)
		return
	}
	word := unsafe.Pointer(unsafe.SliceData(b))
	if uintptr(word)%8 != 0 { // of a region whose addresses begin elsewhere
		q.refuse(packet.NAKInvalid)
		return
	}
	value := change((*uint64)(word), h.BTH.Opcode.Operation() == packet.FetchAdd, a.Compare, a.Swap)
	q.results[q.oldest] = result{seq: q.expect, value: value, valid: true}
	q.oldest = (q.oldest + 1) % len(q.results)
	q.msn++
	q.acknowledge()
	q.giveResult(q.expect, value)
	q.executed(1, false)
}

func (q *QP) giveResult(seq, value uint64) {
	h := q.header(packet.AtomicAcknowledge, wire(q.origin, seq))
	h.AETH, h.Result = packet.AETH{Syndrome: packet.NoCredits, MSN: q.msn}, value
	q.engine.end(&q.path, h.AppendTo(q.engine.begin()))
}

// repeated answers a packet again.
func (q *QP) repeated(h *packet.Headers, seq uint64) {
	switch h.BTH.Opcode.Operation() {
	case packet.ReadRequest:
		data, fault := q.readable(h)
		if fault == 0 && seq+uint64(q.answers(len(data))) <= q.expect {
			q.answer(seq, data)
		}
	case packet.CompareSwap, packet.FetchAdd:
		for _, r := range q.results {
			if r.valid && r.seq == seq {
				q.giveResult(seq, r.value)
			}
		}
	default:
		q.owe()
	}
}

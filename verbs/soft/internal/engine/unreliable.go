package engine

import (
	"encoding/binary"
	"slices"

	"heddle/ib"
	"heddle/packet"
	"heddle/verbs"
)

// unreliable takes a packet of UC: a message of which anything is missing, or that
// finds no receive, is dropped, and its receive is for the next one.
func (q *QP) unreliable(h *packet.Headers, payload []byte) {
	op := h.BTH.Opcode.Operation()
	seq, ok := unwire(h.BTH.PSN, q.origin, q.expect)
	if !ok || seq < q.expect {
		return
	}
	gap := seq > q.expect
	q.expect = seq + 1
	if starts(op) {
		q.coming, q.offset = nothing, 0
	} else if gap {
		q.coming = dropping
	}
	if q.coming == dropping || q.coming == nothing != starts(op) || !q.wellFormed(op, payload) || !q.unreliableMessage(h, payload) {
		q.coming = dropping
	}
	if ends(op) {
		q.coming = nothing
	}
}

// unreliableMessage does what a packet of UC asks for.
func (q *QP) unreliableMessage(h *packet.Headers, payload []byte) bool {
	op := h.BTH.Opcode.Operation()
	if op >= packet.WriteFirst {
		return q.unreliableWrite(h, payload)
	}
	if starts(op) {
		if !q.take() {
			return false
		}
		q.coming = sending
	}
	if fault, _ := q.receive(payload); fault != 0 {
		return false
	}
	q.offset += len(payload)
	if ends(op) {
		wc := verbs.WC{Op: verbs.OpRecv, ByteLen: uint32(q.offset)}
		if hasImm(op) {
			wc.Imm, wc.Flags = h.Imm, verbs.WithImm
		}
		q.received(wc, h.BTH.Solicited)
	}
	return true
}

func (q *QP) unreliableWrite(h *packet.Headers, payload []byte) bool {
	op := h.BTH.Opcode.Operation()
	if starts(op) {
		q.coming, q.addr, q.rkey, q.total = writing, h.RETH.Addr, h.RETH.RKey, int(h.RETH.Length)
	}
	if hasImm(op) && !q.ready() || q.write(payload, ends(op)) != 0 {
		return false
	}
	if hasImm(op) {
		q.take()
		q.received(verbs.WC{Op: verbs.OpRecvWriteImm, ByteLen: uint32(q.total), Imm: h.Imm, Flags: verbs.WithImm}, h.BTH.Solicited)
	}
	return true
}

// Address is where datagrams go; it is the AH of requests.
type Address interface{ Path() *Path }

// address puts what a datagram needs into its headers.
func (q *QP) address(wr *verbs.SendWR, h *packet.Headers) *Path {
	h.BTH.QPN = wr.RemoteQPN
	h.DETH = packet.DETH{QKey: wr.RemoteQKey, From: q.number}
	if wr.RemoteQKey.IsPrivileged() {
		h.DETH.QKey = q.Attr.QKey
	}
	if a, ok := wr.AH.(Address); ok {
		return a.Path()
	}
	return &q.path // PostSend has seen to it that there is one
}

// datagram takes a packet of UD. One too long for its buffer, without one or with
// a wrong Q_Key is dropped (case V10).
func (q *QP) datagram(p *Packet, h *packet.Headers, payload []byte) {
	front := q.recvs.Front()
	switch {
	case h.DETH.QKey != q.Attr.QKey || len(payload) > q.mtu || front == nil:
		return
	case roomOf(front) < verbs.GRHSize+len(payload):
		return
	}
	q.take()
	wc := verbs.WC{Op: verbs.OpRecv, ByteLen: uint32(verbs.GRHSize + len(payload)), SrcQPN: h.DETH.From}
	if p.Path.Remote.IsValid() {
		wc.Flags = verbs.WithGRH
		q.engine.header(p)
		if !q.scatter(q.rx.sges, 0, q.engine.grh[:]) {
			wc.Status = verbs.StatusLocalProtection
		}
	}
	if !q.scatter(q.rx.sges, verbs.GRHSize, payload) {
		wc.Status = verbs.StatusLocalProtection
	}
	if h.BTH.Opcode.Operation() == packet.SendOnlyImm {
		wc.Imm, wc.Flags = h.Imm, wc.Flags|verbs.WithImm
	}
	q.received(wc, h.BTH.Solicited)
	if wc.Status != verbs.StatusOK {
		q.fail()
	}
}

// header makes what comes before a datagram's data: the GRH, or an IPv4 header in
// its last 20 bytes.
func (e *Engine) header(p *Packet) {
	var grh packet.GRH
	grh.Class, grh.Hops, grh.Length = p.Path.Class, p.Path.Hops, uint16(len(p.Data)+packet.ICRCSize)
	grh.SGID, grh.DGID = p.Path.Remote, p.Path.Local
	grh.AppendTo(e.grh[:0])
	if !mapped(p.Path.Remote) {
		return
	}
	clear(e.grh[:])
	ip := e.grh[20:]
	ip[0], ip[1], ip[6], ip[8], ip[9] = 0x45, p.Path.Class, 0x40, p.Path.Hops, 17
	binary.BigEndian.PutUint16(ip[2:], uint16(packet.IPv4Size+packet.UDPSize+len(p.Data)+packet.ICRCSize))
	copy(ip[12:16], p.Path.Remote[12:])
	copy(ip[16:20], p.Path.Local[12:])
}

// mapped tells whether a GID is an IPv4 address.
func mapped(g ib.GID) bool {
	return [12]byte(g[:12]) == [12]byte{10: 0xff, 11: 0xff}
}

// receiveGroup gives a packet to all members of its group.
func (e *Engine) receiveGroup(p *Packet, payload []byte) {
	h := e.in
	some := false
	for _, q := range e.groups[ib.MGID(p.Path.Local)] {
		if q.accepts(p, &h) {
			some = true
			q.datagram(p, &h, payload)
		}
	}
	if !some {
		e.Stats.Refused++
	}
}

// copies gives what a QP sends to a group to its members here.
func (q *QP) copies(path *Path, b []byte) {
	e := q.engine
	var h packet.Headers
	p := Packet{Path: Path{Own: path.LID, Remote: path.Local, Local: path.Remote, Hops: path.Hops, Class: path.Class}, Data: b}
	payload, err := h.Parse(b)
	if err != nil {
		return
	}
	for _, member := range e.groups[ib.MGID(path.Remote)] {
		if (member != q || !q.Attr.BlockLoopback) && member.accepts(&p, &h) {
			member.datagram(&p, &h, payload)
		}
	}
}

// Join has a QP receive what is sent to a group; first is that it is the first
// one. Leave ends that; last is that it was the last one.
func (q *QP) Join(group ib.MGID) (first bool) {
	if slices.Contains(q.groups, group) {
		return false
	}
	q.groups = append(q.groups, group)
	e := q.engine
	e.groups[group] = append(e.groups[group], q)
	return len(e.groups[group]) == 1
}

// Leave takes a QP out of a group.
func (q *QP) Leave(group ib.MGID) (last bool) {
	e := q.engine
	q.groups = slices.DeleteFunc(q.groups, func(g ib.MGID) bool { return g == group })
	left := slices.DeleteFunc(e.groups[group], func(m *QP) bool { return m == q })
	if e.groups[group] = left; len(left) == 0 {
		delete(e.groups, group)
	}
	return len(left) == 0
}

// In tells whether a QP is in a group.
func (q *QP) In(group ib.MGID) bool { return slices.Contains(q.groups, group) }

// Groups are those that a QP is in.
func (q *QP) Groups() []ib.MGID { return slices.Clone(q.groups) }

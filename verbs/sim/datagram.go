package sim

import (
	"encoding/binary"
	"fmt"
	"slices"

	"heddle/ib"
	"heddle/verbs"
)

// sendDatagram sends a request of UD to its QP, or to all of its group.
func (q *qp) sendDatagram(wr *verbs.SendWR, f *flight, number uint64) bool {
	h, ok := wr.AH.(*ah)
	if !ok {
		q.stop(number, verbs.StatusLocalQPOperation)
		return false
	}
	p := q.net.newPacket()
	p.kind, p.op, p.seq, p.msg, p.src, p.srcEpoch = datagram, wr.Op, f.first, number, q, q.epoch
	p.length, p.total, p.last = f.length, f.length, true
	p.imm, p.solicited = wr.Imm, wr.Flags&verbs.Solicited != 0
	if p.qkey = wr.RemoteQKey; p.qkey.IsPrivileged() {
		p.qkey = q.attr.QKey
	}
	p.global, p.sgid, p.dgid = h.attr.GID != ib.GID{}, q.pd.ctx.dev.gid, h.attr.GID
	if !q.load(p, wr) {
		return q.lostMemory(p, number)
	}
	q.count(p)
	if h.to != nil {
		q.copyTo(p, h.to.qps[wr.RemoteQPN])
	}
	for _, member := range q.net.groups[h.group] {
		if member != q || !q.attr.BlockLoopback {
			q.copyTo(p, member)
		}
	}
	q.net.free(p)
	return true
}

// copyTo sends a copy of a datagram to a QP, if there is one.
func (q *qp) copyTo(p *packet, to *qp) {
	if to == nil || to.attr.Type != verbs.UD {
		return
	}
	twin := q.net.newPacket()
	data := append(twin.data, p.data...)
	*twin = *p
	twin.data, twin.dst, twin.dstEpoch = data, to, to.epoch
	q.net.launch(twin)
}

// wants tells whether a UD queue pair takes a datagram: one too long for its
// buffer, or without one, is dropped (V10).
func (q *qp) wants(p *packet) bool {
	return p.qkey == q.attr.QKey && len(p.data) <= q.mtu
}

// placeGRH writes the header that comes before a datagram's data.
func (q *qp) placeGRH(p *packet) bool {
	if !p.global {
		return true
	}
	const version, grh, hops = 6 << 28, 0x1b, 64
	var b [verbs.GRHSize]byte
	binary.BigEndian.PutUint32(b[0:], version)
	binary.BigEndian.PutUint16(b[4:], uint16(len(p.data)))
	b[6], b[7] = grh, hops
	copy(b[8:], p.sgid[:])
	copy(b[24:], p.dgid[:])
	if q.scatter(p.rx.sges, 0, b[:]) {
		return true
	}
	p.fault, p.status = nakOperation, verbs.StatusLocalProtection
	return false
}

// Attach implements verbs.QP.
func (q *qp) Attach(group ib.MGID, _ ib.MLID) error {
	q.net.enter()
	defer q.net.leave()
	if err := q.mayJoin(group); err != nil {
		return &verbs.OpError{Verb: "attach", QPN: q.number, Err: err}
	}
	if !slices.Contains(q.groups, group) {
		q.groups = append(q.groups, group)
		q.net.groups[group] = append(q.net.groups[group], q)
	}
	return nil
}

func (q *qp) mayJoin(group ib.MGID) error {
	switch {
	case q.closed:
		return verbs.ErrClosed
	case !q.net.caps.Multicast:
		return verbs.ErrNotSupported
	case q.attr.Type != verbs.UD:
		return fmt.Errorf("a %v queue pair is in no group: %w", q.attr.Type, verbs.ErrInvalid)
	case !group.IsValid():
		return fmt.Errorf("group %v: %w", group, verbs.ErrInvalid)
	default:
		return nil
	}
}

// Detach implements verbs.QP.
func (q *qp) Detach(group ib.MGID, _ ib.MLID) error {
	q.net.enter()
	defer q.net.leave()
	if q.closed {
		return verbs.ErrClosed
	}
	if !slices.Contains(q.groups, group) {
		return &verbs.OpError{Verb: "detach: it is not attached", QPN: q.number, Err: verbs.ErrNotFound}
	}
	q.leaveGroup(group)
	return nil
}

func (q *qp) leaveGroup(group ib.MGID) {
	q.groups = slices.DeleteFunc(q.groups, func(g ib.MGID) bool { return g == group })
	left := slices.DeleteFunc(q.net.groups[group], func(m *qp) bool { return m == q })
	if q.net.groups[group] = left; len(left) == 0 {
		delete(q.net.groups, group)
	}
}

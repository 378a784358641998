package verbstest

import (
	"bytes"
	"errors"

	"heddle/ib"
	"heddle/verbs"
)

// datagrams is a UD queue pair that is ready.
func (s *side) datagrams(options ...option) *end {
	s.e.Helper()
	q := s.qp(verbs.UD, options...)
	s.e.must("connect a UD queue pair", q.qp.Connect(s.e.ctx, nil))
	return q
}

// to is a datagram to a peer.
func (q *end) to(peer *end) verbs.SendWR {
	q.e.Helper()
	ah, qpn, key, err := q.pd.ResolveAH(peer.qp.Endpoint())
	q.e.must("resolve an address", err)
	q.e.closing(rankOther, "address", ah.Close)
	if qpn != peer.qp.QPN() || key != qkey {
		q.e.Errorf("QP %d with the key %v is resolved as %d, %v", peer.qp.QPN(), qkey, qpn, key)
	}
	return verbs.SendWR{Op: verbs.OpSend, AH: ah, RemoteQPN: qpn, RemoteQKey: key}
}

// post is one rig for datagrams: a sends from ma, b receives to mb.
func (e *env) mail(a, b *end) (*rig, verbs.SendWR) {
	e.Helper()
	return e.rig(a, b, verbs.GRHSize+4096), a.to(b)
}

// datagram looks at a datagram that came: its length, its data after 40 bytes,
// its sender.
func (r *rig) datagram(wc verbs.WC, data []byte, wr *verbs.SendWR) {
	r.e.Helper()
	if wc.Status != verbs.StatusOK || wc.Op != verbs.OpRecv || int(wc.ByteLen) != verbs.GRHSize+len(data) || wc.SrcQPN != r.a.qp.QPN() || wc.QPN != r.b.qp.QPN() {
		r.e.Errorf("datagram of %d bytes from QP %d to QP %d: %+v", len(data), r.a.qp.QPN(), r.b.qp.QPN(), wc)
	}
	if has := wc.Flags&verbs.WithImm != 0; has != wr.Op.HasImm() || has && wc.Imm != wr.Imm {
		r.e.Errorf("immediate %#x (%v), want %#x (%v)", wc.Imm, has, wr.Imm, wr.Op.HasImm())
	}
	if !r.mb.equal(guard+verbs.GRHSize, data) {
		r.e.Errorf("the data of %d bytes is not at %d of the buffer", len(data), verbs.GRHSize)
	}
}

// datagramsOf sends datagrams of all lengths up to the MTU.
func datagramsOf(op verbs.Op) func(*env) {
	return func(e *env) {
		a, b := e.near.datagrams(), e.far.datagrams()
		r, wr := e.mail(a, b)
		wr.Op, wr.Flags = op, verbs.Signaled
		port, err := e.far.dev.Port(1)
		e.must("port", err)
		mtu := min(port.ActiveMTU.Bytes(), 4096)
		for i, n := range []int{0, 1, 7, 8, 63, 64, mtu - 1, mtu} {
			before := e.noise(guard)
			r.mb.store(guard+verbs.GRHSize+n, before)
			data := e.noise(n)
			r.ma.store(0, data)
			b.recv(uint64(i), r.mb.SGE(guard, verbs.GRHSize+n))
			wr.ID, wr.Imm, wr.SGEs = uint64(i), uint32(e.rand.Uint64()), []verbs.SGE{r.ma.SGE(0, n)}
			a.post(wr)
			a.sends.ok(uint64(i), op)
			r.datagram(b.recvs.ok(uint64(i), verbs.OpRecv), data, &wr)
			if !r.mb.equal(guard+verbs.GRHSize+n, before) {
				e.Errorf("a datagram of %d bytes changed what is after it", n)
			}
		}
	}
}

// longDatagram is case V10: what is longer than the buffer is dropped, the QP
// stays as it is, and the buffer is for the next one.
func longDatagram(e *env) {
	a, b := e.near.datagrams(), e.far.datagrams()
	r, wr := e.mail(a, b)
	wr.Flags = verbs.Signaled
	r.ma.store(0, fill(128, 1))
	b.recv(1, r.mb.SGE(guard, verbs.GRHSize+16))
	wr.SGEs = []verbs.SGE{r.ma.SGE(0, 17)}
	a.post(wr)
	a.sends.ok(0, verbs.OpSend)
	wr.ID, wr.SGEs = 1, []verbs.SGE{r.ma.SGE(64, 16)}
	data := fill(16, 2)
	r.ma.store(64, data)
	a.post(wr)
	a.sends.ok(1, verbs.OpSend)
	r.datagram(b.recvs.ok(1, verbs.OpRecv), data, &wr)
	b.is(verbs.RTS)
	a.is(verbs.RTS)
}

// overMTU has a datagram that no packet carries refused, or fail at its sender.
func overMTU(e *env) {
	a, b := e.near.datagrams(), e.far.datagrams()
	port, err := e.near.dev.Port(1)
	e.must("port", err)
	n := port.ActiveMTU.Bytes() + 1
	r, wr := e.mail(a, b)
	big := a.memory(n)
	wr.ID, wr.Flags, wr.SGEs = 3, verbs.Signaled, []verbs.SGE{big.SGE(0, n)}
	b.recv(1, r.mb.SGE(0, r.mb.Len()))
	if err := a.qp.PostSend(&wr); err == nil {
		a.sends.fails(3, verbs.StatusLocalLength)
	} else if !errors.Is(err, verbs.ErrInvalid) {
		e.Errorf("%v, want ErrInvalid", err)
	}
	b.recvs.none("of a datagram over the MTU")
}

// wrongQKey has datagrams with another key dropped.
func wrongQKey(e *env) {
	a, b := e.near.datagrams(), e.far.datagrams()
	r, wr := e.mail(a, b)
	wr.Flags, wr.SGEs = verbs.Signaled, []verbs.SGE{r.ma.SGE(0, 8)}
	b.recv(1, r.mb.SGE(guard, 256))
	wr.RemoteQKey++
	r.ma.store(0, fill(8, 1))
	a.post(wr)
	a.sends.ok(0, verbs.OpSend)
	wr.RemoteQKey--
	wr.SGEs = []verbs.SGE{r.ma.SGE(8, 8)}
	r.ma.store(8, fill(8, 2))
	a.post(wr)
	a.sends.ok(0, verbs.OpSend)
	r.datagram(b.recvs.ok(1, verbs.OpRecv), fill(8, 2), &wr)
}

// noBuffer has datagrams that nobody has a buffer for get lost.
func noBuffer(e *env) {
	a, b := e.near.datagrams(), e.far.datagrams()
	r, wr := e.mail(a, b)
	wr.Flags, wr.SGEs = verbs.Signaled, []verbs.SGE{r.ma.SGE(0, 8)}
	for range 3 {
		a.post(wr)
		a.sends.ok(0, verbs.OpSend)
	}
	b.recvs.none("of datagrams without a buffer")
	b.recv(1, r.mb.SGE(guard, 256))
	b.recvs.none("of datagrams that came before the buffer")
	a.post(wr)
	a.sends.ok(0, verbs.OpSend)
	b.recvs.ok(1, verbs.OpRecv)
	a.is(verbs.RTS)
	b.is(verbs.RTS)
}

// manyPeers has one UD queue pair talk to several, and tell them apart.
func manyPeers(e *env) {
	a := e.near.datagrams()
	for i := range 3 {
		b := e.far.datagrams()
		r, wr := e.mail(a, b)
		back := b.to(a)
		data := fill(32, byte(i+1))
		r.ma.store(0, data)
		b.recv(1, r.mb.SGE(guard, 256))
		wr.SGEs = []verbs.SGE{r.ma.SGE(0, 32)}
		a.do(wr)
		r.datagram(b.recvs.ok(1, verbs.OpRecv), data, &wr)
		a.recv(2, r.ma.SGE(guard, 256))
		back.SGEs = []verbs.SGE{r.mb.SGE(guard+verbs.GRHSize, 32)}
		b.do(back)
		reply := &rig{e: e, a: b, b: a, ma: r.mb, mb: r.ma}
		reply.datagram(a.recvs.ok(2, verbs.OpRecv), data, &back)
	}
}

// badAddress has ResolveAH refuse words that make no sense, and a datagram
// without an address refused.
func badAddress(e *env) {
	a, b := e.near.datagrams(), e.far.datagrams()
	good := b.qp.Endpoint()
	for _, bad := range [][]byte{nil, good[:len(good)-1], e.noise(len(good)), append(bytes.Clone(good), 0)} {
		_, _, _, err := a.pd.ResolveAH(bad)
		e.wants("an endpoint of noise", err, verbs.ErrInvalid)
	}
	e.wants("a datagram without an address", a.qp.PostSend(&verbs.SendWR{Op: verbs.OpSend}), verbs.ErrInvalid)
	e.wants("WRITE of a datagram QP", a.qp.PostSend(&verbs.SendWR{Op: verbs.OpWrite}), verbs.ErrNotSupported)
}

// toGroup is a datagram to the group of the suite.
func (q *end) toGroup() verbs.SendWR {
	q.e.Helper()
	s := q.e.suite
	ah, err := q.pd.CreateAH(verbs.AHAttr{GID: s.Group.GID(), MLID: s.GroupLID, HopLimit: 1})
	q.e.must("address of a group", err)
	q.e.closing(rankOther, "address", ah.Close)
	return verbs.SendWR{Op: verbs.OpSend, Flags: verbs.Signaled, AH: ah, RemoteQPN: multicastQPN, RemoteQKey: qkey}
}

// multicastQPN is whom datagrams to groups are for (IBTA 10.5.1).
const multicastQPN ib.QPN = 0xffffff

// multicast is case V10: all members of a group get one copy, the sender too;
// who is no member gets none.
func multicast(e *env) {
	sender, local, remote, outside := e.near.datagrams(), e.near.datagrams(), e.far.datagrams(), e.far.datagrams()
	r := e.rig(sender, sender, 256)
	data := e.noise(100)
	r.ma.store(0, data)
	wr := sender.toGroup()
	wr.SGEs = []verbs.SGE{r.ma.SGE(0, 100)}
	for _, q := range []*end{sender, local, remote} {
		e.must("attach", q.qp.Attach(e.suite.Group, e.suite.GroupLID))
	}
	var rigs []*rig
	for _, q := range []*end{sender, local, remote, outside} {
		rq := e.rig(sender, q, 256)
		rigs = append(rigs, rq)
		q.recv(7, rq.mb.SGE(guard, 256))
		q.recv(8, rq.mb.SGE(guard, 256))
	}
	sender.do(wr)
	for _, r := range rigs[:3] {
		r.datagram(r.b.recvs.ok(7, verbs.OpRecv), data, &wr)
		r.b.recvs.none("of a second copy")
	}
	outside.recvs.none("of who is no member")
	e.must("detach", remote.qp.Detach(e.suite.Group, e.suite.GroupLID))
	sender.do(wr)
	sender.recvs.ok(8, verbs.OpRecv)
	local.recvs.ok(8, verbs.OpRecv)
	remote.recvs.none("after Detach")
}

// blockLoopback keeps a sender's own copy from it, and from nobody else.
func blockLoopback(e *env) {
	sender := e.near.datagrams(func(a *verbs.QPAttr) { a.BlockLoopback = true })
	local, remote := e.near.datagrams(), e.far.datagrams()
	r := e.rig(sender, sender, 256)
	wr := sender.toGroup()
	wr.SGEs = []verbs.SGE{r.ma.SGE(0, 10)}
	for _, q := range []*end{sender, local, remote} {
		e.must("attach", q.qp.Attach(e.suite.Group, e.suite.GroupLID))
		q.recv(7, q.memory(256).SGE(0, 256))
	}
	sender.do(wr)
	local.recvs.ok(7, verbs.OpRecv)
	remote.recvs.ok(7, verbs.OpRecv)
	sender.recvs.none("of its own datagram")
}

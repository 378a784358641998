//go:build linux && (amd64 || arm64)

package ibv

import (
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"unsafe"

	"heddle/ib"
	"heddle/verbs"
)

// qp is a queue pair.
type qp struct {
	ctx   *deviceContext
	pd    *pd
	c     *ibvQP
	life  life
	attr  verbs.QPAttr // filled
	gid   verbs.GIDEntry
	link  verbs.LinkLayer
	pkey  uint16 // its index
	psn   uint32 // of the first request
	hello []byte

	// state is the last one that was set here; the device may have gone to Err
	// by itself.
	state  atomic.Uint32
	change sync.Mutex // one change of state after the other

	plain verbs.Ops     // operations that need nothing but SGEs and an address
	mtu   atomic.Uint32 // of the path
	send  sendQueue
	recv  recvQueue

	windows sync.Map // of *mw, those that were bound through it last

	mu     sync.Mutex
	groups map[ib.MGID]membership // that it is attached to; guarded by mu
}

var _ verbs.QP = (*qp)(nil)

// CreateQP makes a queue pair and takes it to INIT.
func (p *pd) CreateQP(a verbs.QPAttr) (verbs.QP, error) {
	a, err := a.Filled(p.ctx.attr, p.ctx.caps)
	if err != nil {
		return nil, err
	}
	q := &qp{ctx: p.ctx, pd: p, attr: a, psn: rand.Uint32N(1 << 24), groups: make(map[ib.MGID]membership)}
	parents, err := q.parents()
	if err != nil {
		return nil, err
	}
	if err := adoptAll(parents, q.create); err != nil {
		return nil, p.ctx.failed("create QP", err)
	}
	p.ctx.events.add(ptr(q.c), q)
	q.receivesDatagrams(true)
	return q, nil
}

// parents are the lives of what a QP is made of.
func (q *qp) parents() ([]*life, error) {
	foreign := func(what string) error {
		return &verbs.OpError{Verb: "create QP: " + what + " is of another device", Device: q.ctx.name, Err: verbs.ErrInvalid}
	}
	send, ok := q.attr.SendCQ.(*cq)
	recv, ok2 := q.attr.RecvCQ.(*cq)
	if !ok || !ok2 || send.ctx != q.ctx || recv.ctx != q.ctx {
		return nil, foreign("a CQ")
	}
	parents := []*life{&q.pd.life, &send.life}
	if recv != send {
		parents = append(parents, &recv.life)
	}
	if q.attr.SRQ != nil {
		shared, ok := q.attr.SRQ.(*srq)
		if !ok || shared.pd.ctx != q.ctx {
			return nil, foreign("the SRQ")
		}
		parents = append(parents, &shared.life)
	}
	return parents, nil
}

func adoptAll(parents []*life, f func() error) error {
	if len(parents) == 0 {
		return f()
	}
	return parents[0].adopt(func() error { return adoptAll(parents[1:], f) })
}

// create makes the QP, under the locks of its parents.
func (q *qp) create() (err error) {
	lib, a := q.ctx.lib, &q.attr
	wish := gidWish{gid: a.GID, kind: a.GIDType}
	var port verbs.PortAttr
	if q.gid, port, err = q.ctx.chooseGID(a.Port, wish); err != nil {
		return err
	}
	if q.pkey, err = q.ctx.pkeyIndex(a.Port, port.PKeys, a.PKey); err != nil {
		return err
	}
	q.link = port.LinkLayer
	if a.MTU == 0 || a.MTU > port.ActiveMTU {
		a.MTU = port.ActiveMTU
	}
	raw := q.initAttr()
	if a.BlockLoopback {
		q.c, err = q.ctx.createQPEx(q.pd.c, raw, qpBlockLoopback)
	} else {
		q.c, err = object[ibvQP](invoke(lib, lib.createQP, ptr(q.pd.c), uintptr(unsafe.Pointer(raw))))
	}
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, failure(invoke(lib, lib.destroyQP, ptr(q.c))))
		}
	}()
	if err := q.check(raw); err != nil {
		return err
	}
	q.filled(raw)
	return q.toInit()
}

func (q *qp) initAttr() *ibvQPInitAttr {
	a := &q.attr
	raw := &ibvQPInitAttr{
		SendCQ: a.SendCQ.(*cq).c, RecvCQ: a.RecvCQ.(*cq).c,
		Cap: ibvQPCap{
			SendWR: uint32(a.SendWR), RecvWR: uint32(a.RecvWR),
			SendSGE: uint32(a.SendSGE), RecvSGE: uint32(a.RecvSGE), Inline: uint32(a.Inline),
		},
		Type: qpType(a.Type),
	}
	if a.SigAll {
		raw.SigAll = 1
	}
	if shared, ok := a.SRQ.(*srq); ok {
		raw.SRQ, raw.Cap.RecvWR, raw.Cap.RecvSGE = shared.c, 0, 0
	}
	return raw
}

// createQPEx makes a QP with flags.
func (c *deviceContext) createQPEx(pd *ibvPD, a *ibvQPInitAttr, flags uint32) (*ibvQP, error) {
	create := c.c.extended(beforeCreateQPEx)
	if create == 0 {
		return nil, verbs.ErrNotSupported
	}
	raw := &ibvQPInitAttrEx{
		Context: a.Context, SendCQ: a.SendCQ, RecvCQ: a.RecvCQ, SRQ: a.SRQ, Cap: a.Cap, Type: a.Type, SigAll: a.SigAll,
		Mask: qpWithPD | qpWithFlags, PD: pd, Flags: flags,
	}
	qp, err := object[ibvQP](invoke(c.lib, create, ptr(c.c), uintptr(unsafe.Pointer(raw))))
	a.Cap = raw.Cap
	return qp, err
}

func (q *qp) check(raw *ibvQPInitAttr) error {
	c := q.c
	return consistent(c.Context == q.ctx.c && c.PD == q.pd.c && c.SendCQ == raw.SendCQ && c.RecvCQ == raw.RecvCQ &&
		c.SRQ == raw.SRQ && c.Type == raw.Type && ib.QPN(c.Num).IsValid(), "ibv_qp")
}

// filled takes over what the device made of the wishes.
func (q *qp) filled(raw *ibvQPInitAttr) {
	a, ops := &q.attr, &q.ctx.c.Ops
	a.SendWR, a.SendSGE, a.Inline = int(raw.Cap.SendWR), int(raw.Cap.SendSGE), int(raw.Cap.Inline)
	if a.SRQ == nil {
		a.RecvWR, a.RecvSGE = int(raw.Cap.RecvWR), int(raw.Cap.RecvSGE)
	}
	a.GID, a.GIDType = q.gid.GID, q.gid.Type
	q.mtu.Store(uint32(a.MTU))
	if a.Type != verbs.UD {
		q.plain = q.ctx.caps.Ops[a.Type] &^ verbs.OpsOf(verbs.OpBind)
	}
	q.send.init(q.ctx, ops.PostSend, ptr(q.c))
	q.recv.init(q.ctx, ops.PostRecv, ptr(q.c), a.RecvSGE)
	hello := verbs.EndpointAttr{
		Type: a.Type, Link: q.link, MTU: a.MTU, Reads: uint8(min(a.Reads, 255)), GIDType: q.gid.Type,
		QPN: ib.QPN(q.c.Num), PSN: q.psn, QKey: a.QKey, GID: q.gid.GID,
	}
	if port, err := q.ctx.port(a.Port); err == nil {
		hello.LID = port.LID
	}
	q.hello = hello.Encode()
}

// receivesDatagrams tells the CQ of a UD queue pair of it.
func (q *qp) receivesDatagrams(there bool) {
	if recv, ok := q.attr.RecvCQ.(*cq); ok && q.attr.Type == verbs.UD {
		recv.setDatagrams(q.c.Num, there)
	}
}

func (q *qp) QPN() ib.QPN        { return ib.QPN(q.c.Num) }
func (q *qp) Type() verbs.QPType { return q.attr.Type }

// Attr is the QP as it was made, with the MTU of the path once it is connected.
func (q *qp) Attr() verbs.QPAttr {
	a := q.attr
	a.MTU = ib.MTU(q.mtu.Load())
	return a
}

func (q *qp) Endpoint() []byte { return append([]byte(nil), q.hello...) }

// State asks the device.
func (q *qp) State() (s verbs.QPState, err error) {
	err = q.life.use(func() error {
		raw, init := new(ibvQPAttr), new(ibvQPInitAttr)
		lib := q.ctx.lib
		err := failure(invoke(lib, lib.queryQP, ptr(q.c), uintptr(unsafe.Pointer(raw)), qpStateFlag, uintptr(unsafe.Pointer(init))))
		s = verbs.QPState(raw.State)
		return err
	})
	return s, q.failed("query QP", err)
}

func (q *qp) failed(verb string, err error) error {
	if err == nil {
		return nil
	}
	return &verbs.OpError{Verb: verb, Device: q.ctx.name, QPN: q.QPN(), Err: sentinel(err)}
}

// Close destroys the QP. What it was attached to it leaves.
func (q *qp) Close() error {
	done, err := q.life.end()
	if !done {
		return q.failed("destroy QP", err)
	}
	q.send.gate.close()
	q.recv.gate.close()
	q.ctx.events.remove(ptr(q.c))
	q.receivesDatagrams(false)
	err = errors.Join(q.leaveAll(), q.endWindows())
	err = errors.Join(err, failure(invoke(q.ctx.lib, q.ctx.lib.destroyQP, ptr(q.c))))
	parents, _ := q.parents()
	for _, parent := range parents {
		parent.release()
	}
	return q.failed("destroy QP", err)
}

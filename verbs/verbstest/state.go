package verbstest

import (
	"context"
	"fmt"
	"strings"

	"heddle/ib"
	"heddle/verbs"
)

// states goes through the states in which a program sees a QP.
func states(e *env) {
	a, b := e.near.qp(verbs.RC), e.far.qp(verbs.RC)
	a.is(verbs.Init)
	if a.qp.QPN() == b.qp.QPN() && e.near.name == e.far.name {
		e.Error("two QPs of one number")
	}
	if a.qp.Type() != verbs.RC {
		e.Errorf("type %v", a.qp.Type())
	}
	e.wants("SEND in INIT", a.qp.PostSend(&verbs.SendWR{Op: e.oneSided()}), verbs.ErrState)
	e.connect(a, b)
	a.is(verbs.RTS)
	e.must("to reset", a.qp.Modify(verbs.Reset))
	a.is(verbs.Reset)
	e.wants("SEND in RESET", a.qp.PostSend(&verbs.SendWR{Op: e.oneSided()}), verbs.ErrState)
	e.wants("RECV in RESET", a.qp.PostRecv(&verbs.RecvWR{}), verbs.ErrState)
	for _, to := range []verbs.QPState{verbs.RTR, verbs.RTS, verbs.SQD, verbs.SQE, 99} {
		e.wants(fmt.Sprintf("from RESET to %v", to), a.qp.Modify(to), verbs.ErrState)
	}
	e.must("to init", a.qp.Modify(verbs.Init))
	a.is(verbs.Init)
	e.wants("from INIT to RTS without Connect", a.qp.Modify(verbs.RTS), verbs.ErrState)
	e.must("to error", a.qp.Modify(verbs.Err))
	a.is(verbs.Err)
	e.wants("from ERR to INIT", a.qp.Modify(verbs.Init), verbs.ErrState)
	e.wants("connect in ERR", a.qp.Connect(e.ctx, b.qp.Endpoint()), verbs.ErrState)
}

// recvInInit is case V2: buffers may be posted before the QP is connected.
func recvInInit(e *env) {
	a, b := e.near.qp(verbs.RC), e.far.qp(verbs.RC)
	r := e.rig(a, b, 64)
	for id := range uint64(4) {
		b.recv(id, r.mb.SGE(0, 64))
	}
	e.connect(a, b)
	for id := range uint64(4) {
		a.do(r.request(verbs.OpSend, 8))
		b.recvs.ok(id, verbs.OpRecv)
	}
}

// badEndpoint has Connect refuse words that make no sense, and leave the QP as it
// was.
func badEndpoint(e *env) {
	a, b := e.near.qp(verbs.RC), e.far.qp(verbs.RC)
	good := b.qp.Endpoint()
	for i := range len(good) {
		e.wants(fmt.Sprintf("the first %d bytes of an endpoint", i), a.qp.Connect(e.ctx, good[:i]), verbs.ErrInvalid)
	}
	e.wants("an endpoint and more", a.qp.Connect(e.ctx, append(append([]byte{}, good...), 0)), verbs.ErrInvalid)
	e.wants("noise", a.qp.Connect(e.ctx, e.noise(len(good))), verbs.ErrInvalid)
	a.is(verbs.Init)
	e.wants("connect without time", a.qp.Connect(canceled(), good), context.Canceled)
	a.is(verbs.Init)
	e.connect(a, b)
	e.wants("connect a second time", a.qp.Connect(e.ctx, good), verbs.ErrState)
	a.is(verbs.RTS)
	e.works(a, b)
}

// recovery takes both ends through error and reset to a new connection.
func recovery(e *env) {
	a, b := e.pair(verbs.RC)
	c, d := e.pair(verbs.RC)
	r := e.rig(a, b, 64)
	for round := range 4 {
		wr := r.request(e.oneSided(), 8)
		wr.ID, wr.RKey = uint64(round), ^wr.RKey
		a.post(wr)
		a.sends.fails(uint64(round), verbs.StatusRemoteAccess)
		for _, q := range []*end{a, b} {
			for _, to := range []verbs.QPState{verbs.Err, verbs.Reset, verbs.Init} {
				e.must(fmt.Sprintf("to %v", to), q.qp.Modify(to))
				q.is(to)
			}
		}
		e.connect(a, b)
		r.transfer(e.oneSided(), 64)
		if e.near.caps.Can(verbs.RC, verbs.OpSend) {
			r.transfer(verbs.OpSend, 64)
		}
		e.works(c, d)
	}
	a.sends.none("after the recovery")
}

// recreate destroys a QP in error, and makes another one with the same CQs.
func recreate(e *env) {
	both, peers := e.near.cq(64), e.far.cq(64)
	for round := range 4 {
		a, b := e.near.qp(verbs.RC, shared(both)), e.far.qp(verbs.RC, shared(peers))
		e.connect(a, b)
		r := e.rig(a, b, 64)
		r.transfer(e.oneSided(), 64)
		wr := r.request(e.oneSided(), 8)
		wr.ID, wr.RKey = uint64(round), ^wr.RKey
		a.post(wr)
		a.sends.fails(uint64(round), verbs.StatusRemoteAccess)
		e.must("close", a.qp.Close())
		e.must("close", b.qp.Close())
	}
	both.none("of closed QPs")
}

// resetForgets has Reset take posted buffers back without a completion.
func resetForgets(e *env) {
	a, b := e.pair(verbs.RC)
	r := e.rig(a, b, 64)
	b.recv(1, r.mb.SGE(0, 64))
	for _, q := range []*end{a, b} {
		e.must("to reset", q.qp.Modify(verbs.Reset))
		e.must("to init", q.qp.Modify(verbs.Init))
	}
	b.recvs.none("of a QP that was reset")
	e.connect(a, b)
	b.recv(2, r.mb.SGE(0, 64))
	a.do(r.request(verbs.OpSend, 8))
	b.recvs.ok(2, verbs.OpRecv)
}

// drain stops a send queue, and lets it go on.
func drain(e *env) {
	a, b := e.pair(verbs.RC)
	r := e.rig(a, b, 4096)
	op := e.oneSided()
	for id := range uint64(8) {
		wr := r.request(op, min(e.longest(), 4096))
		wr.ID, wr.Flags = id, verbs.Signaled
		a.post(wr)
	}
	e.must("to SQD", a.qp.Modify(verbs.SQD))
	if ev := e.near.event(verbs.EventSQDrained); ev.QP != a.qp {
		e.Errorf("the event is of the QP %v", ev.QP)
	}
	a.is(verbs.SQD)
	wr := r.request(op, 8)
	wr.ID, wr.Flags = 8, verbs.Signaled
	a.post(wr)
	done := a.upTo(8, op)
	a.sends.none("of a send queue that is drained")
	e.must("to RTS", a.qp.Modify(verbs.RTS))
	a.is(verbs.RTS)
	for id := done; id < 9; id++ {
		a.sends.ok(id, op)
	}
}

// upTo takes the completions of requests below a number that were begun before
// the queue was stopped.
func (q *end) upTo(most uint64, op verbs.Op) (id uint64) {
	for id < most {
		ctx, cancel := q.e.moment()
		wcs := make([]verbs.WC, 1)
		n, _ := verbs.Await(ctx, q.sends.CQ, wcs)
		cancel()
		if n == 0 {
			return id
		}
		if wcs[0].ID != id || wcs[0].Status != verbs.StatusOK || wcs[0].Op != op {
			q.e.Fatalf("completion %+v, want number %d of %v", wcs[0], id, op)
		}
		id++
	}
	return id
}

// limits has what is beyond the device's limits refused, with the limit.
func limits(e *env) {
	c := e.near.cq(4)
	dev := e.near.attr
	for name, test := range map[string]struct {
		change func(*verbs.QPAttr)
		limit  int
	}{
		"send requests":     {func(a *verbs.QPAttr) { a.SendWR = dev.MaxQPWR + 1 }, dev.MaxQPWR},
		"receive requests":  {func(a *verbs.QPAttr) { a.RecvWR = dev.MaxQPWR + 1 }, dev.MaxQPWR},
		"SGEs":              {func(a *verbs.QPAttr) { a.SendSGE = dev.MaxSGE + 1 }, dev.MaxSGE},
		"SGEs of a receive": {func(a *verbs.QPAttr) { a.RecvSGE = dev.MaxSGE + 1 }, dev.MaxSGE},
		"inline":            {func(a *verbs.QPAttr) { a.Inline = dev.MaxInline + 1 }, dev.MaxInline},
		"port":              {func(a *verbs.QPAttr) { a.Port = dev.Ports + 1 }, int(dev.Ports)},
		"retries":           {func(a *verbs.QPAttr) { a.Retries = verbs.Times(8) }, 7},
		"RNR retries":       {func(a *verbs.QPAttr) { a.RNRRetries = verbs.Times(8) }, 7},
	} {
		attr := verbs.QPAttr{Type: verbs.RC, SendCQ: c.CQ, RecvCQ: c.CQ}
		test.change(&attr)
		qp, err := e.near.pd.CreateQP(attr)
		e.limited("create a QP: "+name, err, verbs.ErrInvalid, test.limit)
		if err == nil {
			e.must("close QP", qp.Close())
		}
	}
	_, err := e.near.pd.CreateQP(verbs.QPAttr{Type: verbs.RC})
	e.wants("a QP without a CQ", err, verbs.ErrInvalid)
	_, err = e.near.pd.CreateQP(verbs.QPAttr{Type: 77, SendCQ: c.CQ, RecvCQ: c.CQ})
	e.wants("a QP of no service", err, verbs.ErrNotSupported)
}

// ports tells what there is, and refuses what there is not.
func ports(e *env) {
	attr := e.near.attr
	if e.near.dev.Name() == "" || attr.Ports < 1 || attr.MaxQPWR < 1 || attr.MaxSGE < 1 || attr.MaxSGE != e.near.caps.MaxSGE || attr.MaxInline != e.near.caps.MaxInline {
		e.Errorf("%q: %+v, caps %+v", e.near.dev.Name(), attr, e.near.caps)
	}
	for number := uint8(1); number <= attr.Ports; number++ {
		port, err := e.near.dev.Port(number)
		e.must("port", err)
		if port.State == verbs.PortUnknown || port.LinkLayer == verbs.LinkUnspecified {
			e.Errorf("port %d: %+v", number, port)
		}
		for i := range port.GIDs {
			if g, err := e.near.dev.GID(number, i); err == nil && (g.Index != i || !g.GID.IsValid()) {
				e.Errorf("GID %d: %+v", i, g)
			}
		}
		_, err = e.near.dev.GID(number, port.GIDs+1000)
		e.wants("GID of a wrong index", err, verbs.ErrNotFound)
	}
	for _, number := range []uint8{0, attr.Ports + 1} {
		_, err := e.near.dev.Port(number)
		e.wants(fmt.Sprintf("port %d", number), err, verbs.ErrNotFound)
	}
}

// wrongGID is case V11: a QP, or an address, whose GID is not of the port is
// refused, and the error says which it was.
func wrongGID(e *env) {
	c := e.near.cq(4)
	gid := ib.MustParseGID("fe80::dead:beef:dead:beef")
	_, err := e.near.pd.CreateQP(verbs.QPAttr{Type: verbs.RC, SendCQ: c.CQ, RecvCQ: c.CQ, GID: gid})
	e.names("a QP of a foreign GID", err, gid)
	if e.near.caps.Ops[verbs.UD] != 0 {
		_, err = e.near.pd.CreateAH(verbs.AHAttr{GID: gid, Source: gid})
		e.names("an address of a foreign GID", err, gid)
	}
}

func (e *env) names(what string, err error, gid ib.GID) {
	e.Helper()
	e.wants(what, err, verbs.ErrNotFound)
	if err != nil && !strings.Contains(err.Error(), gid.String()) {
		e.Errorf("%s: the error does not name it: %v", what, err)
	}
}

// pathMTU is case V12: of two ends with different MTUs, packets of both ways have
// the smaller one, and messages are whole all the same.
func pathMTU(e *env) {
	port, err := e.near.dev.Port(1)
	e.must("port", err)
	for _, mtu := range [][2]ib.MTU{{ib.MTU256, port.ActiveMTU}, {port.ActiveMTU, ib.MTU256}} {
		a := e.near.qp(verbs.RC, func(q *verbs.QPAttr) { q.MTU = mtu[0] })
		b := e.far.qp(verbs.RC, func(q *verbs.QPAttr) { q.MTU = mtu[1] })
		e.connect(a, b)
		if port.LinkLayer != verbs.LinkMemory && (a.qp.Attr().MTU != ib.MTU256 || b.qp.Attr().MTU != ib.MTU256) {
			e.Errorf("MTUs %v and %v make a path of %v and %v", mtu[0], mtu[1], a.qp.Attr().MTU, b.qp.Attr().MTU)
		}
		size := min(e.longest(), 2000)
		if e.near.caps.MaxMessage == e.near.caps.MTU { // messages of one packet
			size = min(size, ib.MTU256.Bytes())
		}
		there, back := e.rig(a, b, size), e.rig(b, a, size)
		there.transfer(e.oneSided(), size)
		back.transfer(e.oneSided(), size)
	}
}

// sqe has the send queue of an unreliable service fail alone.
func sqe(e *env) {
	a, b := e.near.qp(verbs.UC), e.far.qp(verbs.UC)
	e.connect(a, b)
	r := e.rig(a, b, 64)
	wr := r.request(verbs.OpSend, 8)
	wr.ID = 1
	wr.SGEs[0].LKey = ^wr.SGEs[0].LKey
	a.post(wr)
	a.sends.fails(1, verbs.StatusLocalProtection)
	a.is(verbs.SQE)
	wr.ID = 2
	a.post(wr)
	a.sends.fails(2, verbs.StatusFlushed)
	e.must("to RTS", a.qp.Modify(verbs.RTS))
	r.transfer(verbs.OpSend, 64)
}

// ucDrops has a message that nobody has a buffer for get lost, and the QPs go on.
func ucDrops(e *env) {
	a, b := e.pair(verbs.UC)
	r := e.rig(a, b, 64)
	for id := range uint64(3) {
		wr := r.request(verbs.OpSend, 8)
		wr.ID = id
		a.do(wr)
	}
	e.settled(a, r)
	r.transfer(verbs.OpSend, 64)
	a.is(verbs.RTS)
	b.is(verbs.RTS)
}

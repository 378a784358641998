package sim

import (
	"context"
	"fmt"

	"heddle/ib"
	"heddle/verbs"
	"heddle/verbs/internal/queue"
)

// qp is a queue pair. Its fields from state on are guarded by net.mu.
type qp struct {
	net            *Network
	pd             *pd
	number         ib.QPN
	attr           verbs.QPAttr
	sendCQ, recvCQ *cq
	srq            *srq

	state       verbs.QPState
	epoch       uint32 // goes up when all that is under way is void
	closed      bool
	remote      *qp
	mtu         int // of the path
	mostReads   int
	groups      []ib.MGID
	lastArrival ticks // of a packet of it, where they keep their order
	stats       Stats

	requester
	responder
}

// CreateQP implements verbs.PD.
func (p *pd) CreateQP(a verbs.QPAttr) (verbs.QP, error) {
	n := p.ctx.net
	n.enter()
	defer n.leave()
	if err := p.usable(); err != nil {
		return nil, fmt.Errorf("create QP: %w", err)
	}
	a, err := a.Filled(p.ctx.Attr(), n.caps)
	if err != nil {
		return nil, err
	}
	if err := p.ctx.hasGID(a.GID, a.GIDType); err != nil {
		return nil, fmt.Errorf("create QP: %w", err)
	}
	if a.MTU == 0 {
		a.MTU = p.ctx.dev.mtu
	}
	if !a.MTU.IsValid() {
		return nil, fmt.Errorf("create QP: MTU %v: %w", a.MTU, verbs.ErrInvalid)
	}
	a.MTU, a.GID, a.GIDType = min(a.MTU, p.ctx.dev.mtu), p.ctx.dev.gid, verbs.GIDInfiniBand
	if a.PKey == 0 {
		a.PKey = ib.DefaultPKey
	}
	q := &qp{net: n, pd: p, attr: a, state: verbs.Init, mtu: a.MTU.Bytes()}
	if err := q.join(); err != nil {
		return nil, err
	}
	return q, nil
}

// join enters a new QP where others look for it.
func (q *qp) join() error {
	send, ok1 := q.attr.SendCQ.(*cq)
	recv, ok2 := q.attr.RecvCQ.(*cq)
	if !ok1 || !ok2 || send.ctx != q.pd.ctx || recv.ctx != q.pd.ctx || send.closed || recv.closed {
		return fmt.Errorf("create QP: a CQ of something else, or closed: %w", verbs.ErrInvalid)
	}
	if q.attr.SRQ != nil {
		s, ok := q.attr.SRQ.(*srq)
		if !ok || s.pd.ctx != q.pd.ctx || s.closed {
			return fmt.Errorf("create QP: an SRQ of something else, or closed: %w", verbs.ErrInvalid)
		}
		s.users++
		q.srq = s
	}
	d := q.pd.ctx.dev
	d.last++
	q.number = d.last & 0xff_ffff
	q.sendCQ, q.recvCQ = send, recv
	send.use(q)
	recv.use(q)
	q.pd.made++
	d.qps[q.number] = q
	q.requester.make(&q.attr)
	q.responder.make(q)
	return nil
}

// QPN implements verbs.QP.
func (q *qp) QPN() ib.QPN { return q.number }

// Type implements verbs.QP.
func (q *qp) Type() verbs.QPType { return q.attr.Type }

// Attr implements verbs.QP.
func (q *qp) Attr() verbs.QPAttr {
	q.net.mu.Lock()
	defer q.net.mu.Unlock()
	a := q.attr
	a.MTU = ib.MTUFromBytes(q.mtu)
	return a
}

// State implements verbs.QP.
func (q *qp) State() (verbs.QPState, error) {
	q.net.mu.Lock()
	defer q.net.mu.Unlock()
	if q.closed {
		return q.state, verbs.ErrClosed
	}
	return q.state, nil
}

// Endpoint implements verbs.QP.
func (q *qp) Endpoint() []byte {
	e := endpoint{
		network: q.net.id, device: q.pd.ctx.dev.number, qpn: q.number, qkey: q.attr.QKey,
		service: q.attr.Type, mtu: q.attr.MTU, reads: uint8(q.attr.Reads),
	}
	return e.bytes()
}

// Connect implements verbs.QP.
func (q *qp) Connect(ctx context.Context, peer []byte) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	q.net.enter()
	defer q.net.leave()
	refuse := func(err error) error { return &verbs.OpError{Verb: "connect", QPN: q.number, Err: err} }
	switch {
	case q.closed:
		return refuse(verbs.ErrClosed)
	case q.state != verbs.Init:
		return refuse(fmt.Errorf("it is in %v: %w", q.state, verbs.ErrState))
	case q.attr.Type == verbs.UD && peer != nil:
		return refuse(fmt.Errorf("a UD queue pair has no peer: %w", verbs.ErrInvalid))
	case q.attr.Type != verbs.UD:
		if err := q.bind(peer); err != nil {
			return refuse(err)
		}
	}
	q.state = verbs.RTS
	return nil
}

// bind takes in what the peer says of itself.
func (q *qp) bind(peer []byte) error {
	e, err := parseEndpoint(peer)
	if err != nil {
		return err
	}
	if e.network != q.net.id || e.service != q.attr.Type {
		return fmt.Errorf("the peer is of another network, or of service %v: %w", e.service, verbs.ErrInvalid)
	}
	d := q.net.device(e.device)
	if d == nil {
		return fmt.Errorf("no device %d: %w", e.device, verbs.ErrInvalid)
	}
	q.remote = d.qps[e.qpn]
	if q.remote == nil || d.dead {
		q.remote = nil
		return fmt.Errorf("QP %d of %s: %w", e.qpn, d.name, verbs.ErrPeerGone)
	}
	q.mtu = min(q.attr.MTU, e.mtu).Bytes()
	q.mostReads = min(q.attr.Reads, int(e.reads))
	return nil
}

// Modify implements verbs.QP.
func (q *qp) Modify(to verbs.QPState) error {
	q.net.enter()
	defer q.net.leave()
	if q.closed {
		return verbs.ErrClosed
	}
	if !queue.Allowed(q.attr.Type, q.state, to) {
		return queue.Refused(q.attr.Type, q.state, to)
	}
	switch to {
	case verbs.Err:
		q.fail()
	case verbs.Reset:
		q.reset()
	default:
		q.state = to
		q.settle()
	}
	return nil
}

// fail takes the QP to the error state: each request and buffer that was not
// done is flushed, in order.
func (q *qp) fail() {
	if q.closed || q.state == verbs.Err || q.state == verbs.Reset {
		return
	}
	q.state = verbs.Err
	q.flushSends()
	q.flushRecvs()
}

// fatal does so with an event.
func (q *qp) fatal() {
	if !q.closed && q.state != verbs.Err && q.state != verbs.Reset {
		q.pd.ctx.tell(verbs.Event{Type: verbs.EventQPFatal, QP: q, QPN: q.number})
		q.fail()
	}
}

// reset forgets all.
func (q *qp) reset() {
	q.state = verbs.Reset
	q.epoch++
	q.remote = nil
	q.takeWindows()
	q.requester.forget()
	q.responder.forget(q)
	mine := func(wc *verbs.WC) bool { return wc.QPN == q.number }
	q.sendCQ.Forget(mine)
	q.recvCQ.Forget(mine)
}

// receives tells whether requests of a peer are taken.
func (q *qp) receives() bool {
	return q.state == verbs.RTS || q.state == verbs.SQD || q.state == verbs.SQE || q.state == verbs.RTR
}

// happen does what a timer or a fault is about.
func (q *qp) happen(k kind) {
	switch k {
	case timeout:
		q.timedOut()
	case readiness:
		q.peerReady()
	case qpFault:
		q.fatal()
	case deviceFault:
		q.pd.ctx.dev.kill()
	case peerGone:
		q.pd.ctx.tell(verbs.Event{Type: verbs.EventPeerGone, QP: q, QPN: q.number})
		if q.state != verbs.Err {
			q.giveUp(verbs.StatusRetryExceeded)
		}
	case arrival, placing, fetching, storing: // of packets
	}
}

// PostSend implements verbs.QP.
func (q *qp) PostSend(wr *verbs.SendWR) error {
	q.net.enter()
	defer q.net.leave()
	if err := q.post(wr); err != nil {
		return err
	}
	q.pump()
	return nil
}

// PostSends implements verbs.QP.
func (q *qp) PostSends(wrs []verbs.SendWR) (n int, err error) {
	q.net.enter()
	defer q.net.leave()
	for i := range wrs {
		if err = q.post(&wrs[i]); err != nil {
			break
		}
		n++
	}
	q.pump()
	return n, err
}

// post takes a request, which pump will send.
func (q *qp) post(wr *verbs.SendWR) error {
	if q.closed {
		return verbs.ErrClosed
	}
	if err := wr.Check(&q.attr, &q.net.caps); err != nil {
		return err
	}
	refuse := func(err error) error {
		return &verbs.OpError{Verb: "post", Op: wr.Op, ID: wr.ID, QPN: q.number, Device: q.pd.ctx.dev.name, Err: err}
	}
	if !queue.CanPostSend(q.state) {
		return refuse(verbs.ErrState)
	}
	if q.attr.Type == verbs.UD {
		if h, ok := wr.AH.(*ah); !ok || h.pd != q.pd || h.closed {
			return refuse(verbs.ErrInvalid)
		}
	}
	if wr.Op == verbs.OpBind {
		if err := q.mayBind(wr); err != nil {
			return refuse(err)
		}
	}
	if q.state == verbs.Err || q.state == verbs.SQE {
		q.sendCQ.Push(verbs.WC{ID: wr.ID, Status: verbs.StatusFlushed, QPN: q.number}, true)
	} else if err := q.sends.Push(wr); err != nil {
		return err
	} else if wr.Op == verbs.OpBind {
		q.sends.At(q.sends.Next() - 1).RKey = wr.MW.(*mw).renew()
	}
	q.posted(wr.Op)
	return nil
}

// PostRecv implements verbs.QP.
func (q *qp) PostRecv(wr *verbs.RecvWR) error {
	q.net.enter()
	defer q.net.leave()
	return q.postRecv(wr)
}

// PostRecvs implements verbs.QP.
func (q *qp) PostRecvs(wrs []verbs.RecvWR) (n int, err error) {
	q.net.enter()
	defer q.net.leave()
	for i := range wrs {
		if err := q.postRecv(&wrs[i]); err != nil {
			return i, err
		}
	}
	return len(wrs), nil
}

func (q *qp) postRecv(wr *verbs.RecvWR) error {
	switch {
	case q.closed:
		return verbs.ErrClosed
	case q.srq != nil:
		return &verbs.OpError{Verb: "post receive: the QP has an SRQ", ID: wr.ID, QPN: q.number, Err: verbs.ErrInvalid}
	case !queue.CanPostRecv(q.state):
		return &verbs.OpError{Verb: "post receive", ID: wr.ID, QPN: q.number, Err: verbs.ErrState}
	}
	if err := wr.Check(q.attr.RecvSGE); err != nil {
		return err
	}
	if q.state == verbs.Err {
		q.recvCQ.Push(verbs.WC{ID: wr.ID, Status: verbs.StatusFlushed, QPN: q.number}, true)
	} else if err := q.recvs.Push(wr); err != nil {
		return err
	}
	q.posted(verbs.OpRecv)
	return nil
}

// Close implements verbs.QP.
func (q *qp) Close() error {
	q.net.enter()
	defer q.net.leave()
	if q.closed {
		return nil
	}
	q.reset()
	q.closed = true
	for len(q.groups) > 0 {
		q.leaveGroup(q.groups[0])
	}
	delete(q.pd.ctx.dev.qps, q.number)
	q.sendCQ.unuse(q)
	q.recvCQ.unuse(q)
	if q.srq != nil {
		q.srq.users--
	}
	q.pd.made--
	return nil
}

var _ verbs.QP = (*qp)(nil)

package soft

import (
	"context"
	"fmt"

	"heddle/ib"
	"heddle/verbs"
	"heddle/verbs/internal/queue"
	"heddle/verbs/soft/internal/engine"
)

// qp is a queue pair.
type qp struct {
	pd             *pd
	port           *port
	number         ib.QPN
	attr           verbs.QPAttr
	sendCQ, recvCQ *cq
	srq            *srq

	core   *engine.QP // guarded by port.mu, as closed
	closed bool
}

// CreateQP implements verbs.PD.
func (p *pd) CreateQP(a verbs.QPAttr) (verbs.QP, error) {
	refuse := func(err error) (verbs.QP, error) { return nil, p.ctx.failure("create QP", err) }
	link := p.port.link.Attr()
	a, err := a.Filled(p.ctx.attr, p.ctx.caps)
	if err != nil {
		return nil, err
	}
	gid, err := link.gid(a.GID, a.GIDType)
	if err != nil {
		return refuse(err)
	}
	a.GID, a.GIDType = gid.GID, gid.Type
	if a.MTU == 0 {
		a.MTU = link.MTU
	}
	if !a.MTU.IsValid() {
		return refuse(fmt.Errorf("MTU %v: %w", a.MTU, verbs.ErrInvalid))
	}
	a.MTU = min(a.MTU, link.MTU)
	if a.PKey == 0 {
		a.PKey = link.pkey()
	}
	q := &qp{pd: p, port: p.port, attr: a}
	p.port.enter()
	defer p.port.leave()
	if err := q.join(); err != nil {
		return refuse(err)
	}
	return q, nil
}

// pkey is the first valid P_Key of the port.
func (a *LinkAttr) pkey() ib.PKey {
	for _, k := range a.PKeys {
		if k.IsValid() {
			return k
		}
	}
	return ib.DefaultPKey
}

// join makes the QP of the engine, and enters it where others look for it.
func (q *qp) join() error {
	if err := q.pd.usable(); err != nil {
		return err
	}
	send, ok1 := q.attr.SendCQ.(*cq)
	recv, ok2 := q.attr.RecvCQ.(*cq)
	if !ok1 || !ok2 || send.ctx != q.pd.ctx || recv.ctx != q.pd.ctx || send.closed || recv.closed {
		return fmt.Errorf("a CQ of something else, or closed: %w", verbs.ErrInvalid)
	}
	recvs := &engine.Receives{}
	if q.attr.SRQ != nil {
		s, ok := q.attr.SRQ.(*srq)
		if !ok || s.pd.ctx != q.pd.ctx || s.closed {
			return fmt.Errorf("an SRQ of something else, or closed: %w", verbs.ErrInvalid)
		}
		s.users++
		q.srq, recvs = s, &s.recvs
	} else {
		recvs.Recvs = queue.NewRecvs(q.attr.RecvWR, q.attr.RecvSGE)
	}
	q.sendCQ, q.recvCQ = send, recv
	q.core = q.port.engine.NewQP(q.attr, q.pd.number, send, recv, recvs)
	q.core.Owner = q
	q.number = q.core.QPN()
	send.use(q)
	recv.use(q)
	q.pd.made++
	return nil
}

// QPN implements verbs.QP.
func (q *qp) QPN() ib.QPN { return q.number }

// Type implements verbs.QP.
func (q *qp) Type() verbs.QPType { return q.attr.Type }

// Attr implements verbs.QP.
func (q *qp) Attr() verbs.QPAttr {
	q.port.mu.Lock()
	defer q.port.mu.Unlock()
	a := q.attr
	a.MTU = q.core.MTU()
	return a
}

// State implements verbs.QP.
func (q *qp) State() (verbs.QPState, error) {
	q.port.mu.Lock()
	defer q.port.mu.Unlock()
	if q.closed {
		return q.core.State(), verbs.ErrClosed
	}
	return q.core.State(), nil
}

// Endpoint implements verbs.QP.
func (q *qp) Endpoint() []byte {
	link := q.port.link.Attr()
	q.port.mu.Lock()
	defer q.port.mu.Unlock()
	e := verbs.EndpointAttr{
		Type: q.attr.Type, Link: link.Layer, MTU: q.attr.MTU, Reads: uint8(min(q.attr.Reads, 255)), GIDType: q.attr.GIDType,
		LID: link.LID, Port: link.Port, QPN: q.number, PSN: q.core.PSN(), QKey: q.attr.QKey, GID: q.attr.GID,
	}
	return e.Encode()
}

func (q *qp) failure(verb string, err error) error {
	return &verbs.OpError{Verb: verb, Device: q.port.name, QPN: q.number, Err: err}
}

// Connect implements verbs.QP.
func (q *qp) Connect(ctx context.Context, words []byte) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	link := q.port.link.Attr()
	q.port.enter()
	defer q.port.leave()
	switch {
	case q.closed:
		return q.failure("connect", verbs.ErrClosed)
	case q.core.State() != verbs.Init:
		return q.failure("connect", fmt.Errorf("it is in %v: %w", q.core.State(), verbs.ErrState))
	case q.attr.Type == verbs.UD && words != nil:
		return q.failure("connect", fmt.Errorf("a UD queue pair has no peer: %w", verbs.ErrInvalid))
	case q.attr.Type == verbs.UD:
		q.core.Connect(nil)
		return nil
	}
	e, err := parseEndpoint(words, q.attr.Type, &link)
	if err != nil {
		return q.failure("connect", err)
	}
	path := pathTo(&e, &link)
	path.SL = q.attr.SL
	if path.Remote.IsValid() {
		path.Local = q.attr.GID
	}
	q.core.Connect(&engine.Peer{Path: path, QPN: e.QPN, PSN: e.PSN, MTU: e.MTU, Reads: int(e.Reads)})
	return nil
}

// Modify implements verbs.QP.
func (q *qp) Modify(to verbs.QPState) error {
	q.port.enter()
	defer q.port.leave()
	if q.closed {
		return verbs.ErrClosed
	}
	if from := q.core.State(); !queue.Allowed(q.attr.Type, from, to) {
		return queue.Refused(q.attr.Type, from, to)
	}
	q.core.Modify(to)
	return nil
}

// PostSend implements verbs.QP.
func (q *qp) PostSend(wr *verbs.SendWR) error {
	q.port.enter()
	defer q.port.posted(q.core)
	if err := q.post(wr); err != nil {
		return err
	}
	q.core.Pump()
	return nil
}

// PostSends implements verbs.QP.
func (q *qp) PostSends(wrs []verbs.SendWR) (n int, err error) {
	q.port.enter()
	defer q.port.posted(q.core)
	for n < len(wrs) && err == nil {
		if err = q.post(&wrs[n]); err == nil {
			n++
		}
	}
	q.core.Pump()
	return n, err
}

// post takes a request, which Pump will send.
func (q *qp) post(wr *verbs.SendWR) error {
	if q.closed {
		return verbs.ErrClosed
	}
	if err := wr.Check(&q.attr, &q.pd.ctx.caps); err != nil {
		return err
	}
	refuse := func(err error) error {
		return &verbs.OpError{Verb: "post", Op: wr.Op, ID: wr.ID, QPN: q.number, Device: q.port.name, Err: err}
	}
	if !queue.CanPostSend(q.core.State()) {
		return refuse(verbs.ErrState)
	}
	if q.attr.Type == verbs.UD {
		if h, ok := wr.AH.(*ah); !ok || h.pd != q.pd || h.closed {
			return refuse(verbs.ErrInvalid)
		}
	}
	return q.core.PostSend(wr)
}

// PostRecv implements verbs.QP.
func (q *qp) PostRecv(wr *verbs.RecvWR) error {
	q.port.mu.Lock() // nothing is sent
	defer q.port.mu.Unlock()
	return q.postRecv(wr)
}

// PostRecvs implements verbs.QP.
func (q *qp) PostRecvs(wrs []verbs.RecvWR) (n int, err error) {
	q.port.mu.Lock()
	defer q.port.mu.Unlock()
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
	case !queue.CanPostRecv(q.core.State()):
		return &verbs.OpError{Verb: "post receive", ID: wr.ID, QPN: q.number, Err: verbs.ErrState}
	}
	if err := wr.Check(q.attr.RecvSGE); err != nil {
		return err
	}
	return q.core.PostRecv(wr)
}

// Attach implements verbs.QP. The link's own call may take long, and is made
// without the lock.
func (q *qp) Attach(group ib.MGID, lid ib.MLID) error {
	first, err := q.enterGroup(group)
	if err != nil || !first {
		return err
	}
	if err := q.port.link.Join(group, lid); err != nil {
		q.port.enter()
		defer q.port.leave()
		q.core.Leave(group)
		return q.failure("attach", err)
	}
	return nil
}

func (q *qp) enterGroup(group ib.MGID) (first bool, err error) {
	q.port.enter()
	defer q.port.leave()
	switch {
	case q.closed:
		return false, verbs.ErrClosed
	case q.attr.Type != verbs.UD:
		return false, q.failure("attach", fmt.Errorf("a %v queue pair is in no group: %w", q.attr.Type, verbs.ErrInvalid))
	case group == ib.MGID{}:
		return false, q.failure("attach", fmt.Errorf("group %v: %w", group, verbs.ErrInvalid))
	}
	return q.core.Join(group), nil
}

// Detach implements verbs.QP.
func (q *qp) Detach(group ib.MGID, lid ib.MLID) error {
	last, err := q.leaveGroup(group)
	if err != nil || !last {
		return err
	}
	return q.port.link.Leave(group, lid)
}

func (q *qp) leaveGroup(group ib.MGID) (last bool, err error) {
	q.port.enter()
	defer q.port.leave()
	switch {
	case q.closed:
		return false, verbs.ErrClosed
	case !q.core.In(group):
		return false, q.failure("detach: it is not attached", verbs.ErrNotFound)
	}
	return q.core.Leave(group), nil
}

// Close implements verbs.QP.
func (q *qp) Close() error {
	for _, group := range q.groups() {
		if err := q.Detach(group, 0); err != nil {
			return err
		}
	}
	q.port.enter()
	defer q.port.leave()
	if q.closed {
		return nil
	}
	q.core.Close()
	q.closed = true
	q.sendCQ.unuse(q)
	q.recvCQ.unuse(q)
	if q.srq != nil {
		q.srq.users--
	}
	q.pd.made--
	return nil
}

func (q *qp) groups() []ib.MGID {
	q.port.mu.Lock()
	defer q.port.mu.Unlock()
	if q.closed {
		return nil
	}
	return q.core.Groups()
}

var _ verbs.QP = (*qp)(nil)

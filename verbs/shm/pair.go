//go:build linux && (amd64 || arm64)

package shm

import (
	"context"
	"crypto/rand"
	"fmt"
	"sync"
	"sync/atomic"

	"heddle/ib"
	"heddle/verbs"
	"heddle/verbs/internal/queue"
)

// pair is a verbs.QP. Where both locks are taken, sending comes first.
type pair struct {
	host           *opened
	domain         *domain
	attr           verbs.QPAttr
	self           endpoint
	sendCQ, recvCQ *completions
	srq            *receives // nil for none
	state          atomic.Int32
	closed         atomic.Bool
	link           atomic.Pointer[link] // of RC and UC, while connected

	// Whoever posts owns sending. Flying is taken from with its mu alone, which
	// guards stall and sends as well.
	sending biased
	flying  flights
	waiting atomic.Int32 // requests in posted
	posted  *queue.Sends // guarded by sending, as all to the blank line
	sent    int          // bytes of its first request that are in the ring
	stall   stall
	parts   [][]byte
	sends   batch // completions
	silent  bool  // records were published of which the peer was not told

	receiving sync.Mutex
	buffers   *queue.Recvs // guarded by receiving, as all to the blank line
	current   verbs.RecvWR // the buffer that a message comes to
	busy      bool         // there is one
	skipping  bool         // what remains of a message that no buffer was for
	got       int          // bytes of it
	unready   bool         // the peer was told that there is no buffer
	guests    []*link      // that send datagrams
	recvs     batch
	flushed   bool // the last buffer was given back

	mu          sync.Mutex
	connecting  chan struct{}           // closed at the end of Connect, nil without one; guarded by mu, as all below
	stopConnect context.CancelCauseFunc // ends it before
	parked      *greeting
	arrived     chan struct{} // holds one: something may be parked
}

func (d *domain) CreateQP(a verbs.QPAttr) (verbs.QP, error) {
	a, err := a.Filled(limits, capabilities)
	if err != nil {
		return nil, err
	}
	sendCQ, ok1 := a.SendCQ.(*completions)
	recvCQ, ok2 := a.RecvCQ.(*completions)
	if !ok1 || !ok2 || sendCQ.host != d.host || recvCQ.host != d.host {
		return nil, &verbs.OpError{Verb: "create QP: a CQ of another device", Device: deviceName, Err: verbs.ErrInvalid}
	}
	srq, ok := a.SRQ.(*receives)
	if a.SRQ != nil && (!ok || srq.domain != d) {
		return nil, &verbs.OpError{Verb: "create QP: an SRQ of another PD", Device: deviceName, Err: verbs.ErrInvalid}
	}
	if a.GID != (ib.GID{}) {
		return nil, noGID("create QP", a.GID)
	}
	if err := d.adopt(); err != nil {
		return nil, err
	}
	a.Inline = keptInline
	posted := queue.NewSends(&a)
	a.Inline = maxInline
	if a.MTU == 0 {
		a.MTU = ib.MTU4096
	}
	q := &pair{
		host: d.host, domain: d, attr: a, sendCQ: sendCQ, recvCQ: recvCQ, srq: srq,
		posted: posted, parts: make([][]byte, 0, max(a.SendSGE, 1)),
		buffers: queue.NewRecvs(a.RecvWR, a.RecvSGE), arrived: make(chan struct{}, 1),
	}
	q.sends, q.recvs = newBatch(sendCQ, &q.closed), newBatch(recvCQ, &q.closed)
	q.flying.make(a.SendWR)
	q.sending.lax = d.host.bell.lax
	q.current.SGEs = make([]verbs.SGE, 0, maxSGE)
	q.state.Store(int32(verbs.Init))
	if err := d.host.enter(q); err != nil {
		d.disown()
		return nil, err
	}
	sendCQ.join(q)
	recvCQ.join(q)
	if srq != nil {
		srq.use(1)
	}
	return q, nil
}

// enter gives a QP its number and its secret.
func (o *opened) enter(q *pair) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.pairs) >= maxPairs {
		return &verbs.OpError{Verb: "create QP", Device: deviceName, Got: len(o.pairs) + 1, Limit: maxPairs, Err: verbs.ErrInvalid}
	}
	for {
		o.lastQPN = o.lastQPN%0xfffffe + 1
		if _, taken := o.pairs[o.lastQPN]; !taken && o.lastQPN > 1 {
			break
		}
	}
	q.self = endpoint{Name: o.name, QPN: o.lastQPN, QKey: q.attr.QKey, Type: q.attr.Type}
	rand.Read(q.self.Secret[:])
	o.pairs[q.self.QPN] = q
	return nil
}

func (o *opened) pair(number ib.QPN) *pair {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.pairs[number]
}

func (q *pair) QPN() ib.QPN        { return q.self.QPN }
func (q *pair) Type() verbs.QPType { return q.attr.Type }
func (q *pair) Attr() verbs.QPAttr { return q.attr }
func (q *pair) Endpoint() []byte   { return q.self.AppendTo(nil) }
func (q *pair) now() verbs.QPState { return verbs.QPState(q.state.Load()) }

// State implements verbs.QP. What others are about to tell the QP counts: a
// refused request of the peer, and an overrun of a CQ.
func (q *pair) State() (verbs.QPState, error) {
	q.receiving.Lock()
	accused := uint32(0)
	if l := q.link.Load(); l != nil {
		accused = l.out.accused.Load()
	}
	q.doneReceiving()
	if accused != 0 && q.now() != verbs.Err {
		q.abort(accusation(verbs.Status(accused)))
	}
	if !q.closed.Load() && (q.sendCQ.Over() || q.recvCQ.Over()) {
		q.abort(verbs.EventQPFatal)
	}
	return q.now(), q.open("query")
}

// open gives the error of a QP that is closed.
func (q *pair) open(verb string) error {
	if q.closed.Load() {
		return q.wrong(verb, verbs.ErrClosed)
	}
	return nil
}

func (q *pair) wrong(verb string, err error) error {
	return &verbs.OpError{Verb: verb, Device: deviceName, QPN: q.self.QPN, Err: err}
}

// Attach and Detach are refused: there are no groups.
func (q *pair) Attach(ib.MGID, ib.MLID) error { return q.wrong("attach", verbs.ErrNotSupported) }

// Detach implements verbs.QP.
func (q *pair) Detach(ib.MGID, ib.MLID) error { return q.wrong("detach", verbs.ErrNotSupported) }

// Modify implements verbs.QP.
func (q *pair) Modify(to verbs.QPState) error {
	if err := q.open("modify"); err != nil {
		return err
	}
	from := q.now()
	if !queue.Allowed(q.attr.Type, from, to) {
		return queue.Refused(q.attr.Type, from, to)
	}
	switch to {
	case verbs.Err:
		q.abort(0)
	case verbs.Reset:
		q.reset()
	case verbs.SQD:
		q.sending.Lock()
		q.state.Store(int32(to))
		q.drained()
		q.doneSending()
	default:
		q.state.Store(int32(to))
		q.push(true)
		q.host.pump.start() // for what has to be tried again
	}
	return nil
}

// drained tells that nothing is under way in SQD; sending is held.
func (q *pair) drained() {
	if q.now() == verbs.SQD && q.flying.len() == 0 && q.sent == 0 {
		q.host.events.add(verbs.Event{Type: verbs.EventSQDrained, QP: q, QPN: q.self.QPN})
	}
}

// abort takes the QP into error, and tells of it unless event is 0.
func (q *pair) abort(event verbs.EventType) {
	if q.enterErr() && event != 0 {
		q.host.events.add(verbs.Event{Type: event, QP: q, QPN: q.self.QPN})
	}
	q.sending.Lock()
	q.flushSends()
	q.doneSending()
	q.flushBuffers()
	q.host.bell.ring()
}

// enterErr is the change of state alone; false where it was so already.
func (q *pair) enterErr() bool {
	if l := q.link.Load(); l != nil {
		q.refusePeer(l)
	}
	old := verbs.QPState(q.state.Swap(int32(verbs.Err)))
	return old != verbs.Err
}

// reset forgets everything, as if the QP were new. The state is set again under
// each lock: who held it may have taken the QP into error for the link that was,
// as may have the link's goroutine.
func (q *pair) reset() {
	q.state.Store(int32(verbs.Reset))
	_ = q.disconnect() // what was parked may be closed
	q.sending.Lock()
	q.state.Store(int32(verbs.Reset))
	for q.posted.Len() > 0 {
		q.posted.Pop()
	}
	q.flying.clear()
	q.sent, q.stall = 0, stall{}
	q.count()
	q.doneSending()
	q.receiving.Lock()
	q.state.Store(int32(verbs.Reset))
	for q.buffers.Len() > 0 {
		q.buffers.Pop()
	}
	q.busy, q.skipping, q.unready, q.got, q.flushed = false, false, false, 0, false
	q.doneReceiving()
	q.forget()
}

// forget takes the QP's completions out of its CQs.
func (q *pair) forget() {
	of := func(wc *verbs.WC) bool { return wc.QPN == q.self.QPN }
	q.sendCQ.Forget(of)
	q.recvCQ.Forget(of)
}

// Close implements verbs.QP.
func (q *pair) Close() error {
	if !q.closed.CompareAndSwap(false, true) {
		return nil
	}
	q.host.mu.Lock()
	delete(q.host.pairs, q.self.QPN)
	q.host.mu.Unlock()
	q.enterErr()
	err := q.disconnect()
	// Who holds a lock may have completions that were made before this.
	q.sending.Lock()
	q.doneSending()
	q.receiving.Lock()
	q.doneReceiving()
	q.sendCQ.leave(q)
	q.recvCQ.leave(q)
	q.forget()
	if q.srq != nil {
		q.srq.use(-1)
	}
	q.domain.disown()
	return err
}

// disconnect ends all links, and returns when nobody serves them any more.
func (q *pair) disconnect() (err error) {
	q.interrupt()
	q.mu.Lock()
	parked := q.parked
	q.parked = nil
	q.mu.Unlock()
	if parked != nil {
		err = parked.close()
	}
	q.receiving.Lock()
	links := append([]*link(nil), q.guests...)
	q.doneReceiving()
	if l := q.link.Load(); l != nil {
		q.refusePeer(l)
		links = append(links, l)
	}
	for _, l := range links {
		l.gone.Store(true)
		_ = send(l.conn, &frame{Kind: byeFrame, From: q.self}) // the end of the socket says the same
		_ = l.conn.Close()                                     // serve may have closed it
		<-l.done
	}
	return err
}

// refusePeer has the requests of the peer fail from now on.
func (q *pair) refusePeer(l *link) {
	q.receiving.Lock()
	defer q.doneReceiving()
	if q.link.Load() == l {
		l.in.refuse(verbs.StatusRetryExceeded)
		l.bell.ring()
	}
}

func (q *pair) String() string { return fmt.Sprintf("%v QP %d", q.attr.Type, q.self.QPN) }

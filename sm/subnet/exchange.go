package subnet

import (
	"context"
	"errors"
	"fmt"

	"heddle/mad"
	"heddle/umad"
)

// Request is an SMP to an agent, by directed route.
type Request struct {
	// Node is whom it goes to; nil where that is not known yet.
	Node     *Node
	Path     []uint8
	Method   mad.Method
	Attr     mad.AttrID
	Modifier uint32
	Data     []byte // up to 64 bytes, of a Set
}

// Exchange sends requests and takes their answers until there are no more:
// many at once, few to one node. take gives the next one, with ok false where
// there is none as long as nothing more is answered; done takes the answer to
// each, which is its own until it returns, or the error umad.ErrTimeout, and both
// are called by one goroutine. A
// node that let two requests in a row time out is not asked any more: what was
// for it ends with umad.ErrTimeout at once, so that nobody waits long for the
// dead. The error is done's, the port's, or the context's.
func Exchange[Q any](ctx context.Context, port *umad.Port, o Options,
	take func() (q Q, ok bool), request func(Q) Request, done func(Q, *mad.Datagram, error) error,
) (requests int, err error) {
	o = o.filled()
	x := &exchange[Q]{
		batch: port.Batch(), o: o, request: request, answers: make(chan *place[Q], o.Window), nodes: map[*Node]*queue[Q]{},
		message: umad.Message{Address: umad.ByRoute(), Data: make([]byte, mad.Size)},
	}
	defer x.batch.Flush() //nolint:errcheck // nobody waits any more
	for {
		if err := x.send(take, done); err != nil {
			return x.requests, err
		}
		if x.out == 0 {
			return x.requests, nil
		}
		p, err := x.await(ctx)
		if err != nil {
			return x.requests, err
		}
		if err := x.receive(p, done); err != nil {
			return x.requests, err
		}
	}
}

// await takes an answer. What was collected is sent when none is there: the
// order is that in which requests would go one by one.
func (x *exchange[Q]) await(ctx context.Context) (*place[Q], error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	select {
	case p := <-x.answers:
		return p, nil
	default:
		x.batch.Flush() //nolint:errcheck // the answers tell
	}
	select {
	case p := <-x.answers:
		return p, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// exchange is what is under way.
type exchange[Q any] struct {
	batch    *umad.Batch
	o        Options
	request  func(Q) Request
	message  umad.Message // that is being sent
	answers  chan *place[Q]
	free     []*place[Q]
	out      int // requests not answered
	requests int
	nodes    map[*Node]*queue[Q]
	ready    []Q // held back before, may be sent now
}

// queue is what is under way to one node.
type queue[Q any] struct {
	asking int
	held   []Q
	silent int // requests in a row that timed out
}

// giveUp is the number of requests in a row that time out before a node counts
// as dead.
const giveUp = 2

// place is one of the window: a request that is under way, and what came of it.
type place[Q any] struct {
	q    Q
	to   *queue[Q] // nil where the node is not known
	d    mad.Datagram
	err  error
	done func(*umad.Message, error)
}

// place gives a free one. Its done has room in the channel.
func (x *exchange[Q]) place() *place[Q] {
	if last := len(x.free) - 1; last >= 0 {
		p := x.free[last]
		x.free = x.free[:last]
		return p
	}
	p := &place[Q]{}
	p.done = func(m *umad.Message, err error) {
		if p.err = err; err == nil {
			p.d = *m.Datagram()
		}
		x.answers <- p
	}
	return p
}

// send sends as much as the windows allow. Requests to a node that has enough
// of them wait.
func (x *exchange[Q]) send(take func() (Q, bool), done func(Q, *mad.Datagram, error) error) error {
	for x.out < x.o.Window {
		q, ok := x.next(take)
		if !ok {
			return nil
		}
		r := x.request(q)
		var n *queue[Q]
		if r.Node != nil {
			n = x.nodes[r.Node]
			if n == nil {
				n = &queue[Q]{}
				x.nodes[r.Node] = n
			}
			switch {
			case n.silent >= giveUp:
				if err := done(q, nil, umad.ErrTimeout); err != nil {
					return err
				}
				continue
			case n.asking >= x.o.PerNode:
				n.held = append(n.held, q)
				continue
			}
			n.asking++
		}
		if err := x.start(q, &r, n); err != nil {
			return err
		}
	}
	return nil
}

func (x *exchange[Q]) next(take func() (Q, bool)) (q Q, ok bool) {
	if last := len(x.ready) - 1; last >= 0 {
		q = x.ready[last]
		x.ready = x.ready[:last]
		return q, true
	}
	return take()
}

func (x *exchange[Q]) start(q Q, r *Request, to *queue[Q]) error {
	d := x.message.Datagram()
	*d = mad.Datagram{}
	d.SetHeader(mad.Header{
		Class: mad.ClassDirected, ClassVersion: 1, Method: r.Method, Attr: r.Attr, Modifier: r.Modifier,
	})
	d.SetMKey(x.o.MKey)
	if err := d.SetPath(r.Path); err != nil {
		return err
	}
	copy(d.Data(), r.Data)
	p := x.place()
	p.q, p.to = q, to
	if err := x.batch.Start(&x.message, x.o.Call, p.done); err != nil {
		return fmt.Errorf("%v of %v: %w", r.Method, r.Attr.Name(mad.ClassDirected), err)
	}
	x.out++
	x.requests++
	return nil
}

// receive gives an answer to done, and lets go what its node held back.
func (x *exchange[Q]) receive(p *place[Q], done func(Q, *mad.Datagram, error) error) error {
	x.out--
	x.free = append(x.free, p)
	late := p.err != nil && errors.Is(p.err, umad.ErrTimeout)
	if p.err != nil && !late {
		return p.err
	}
	if p.to != nil {
		x.release(p.to, late)
	}
	if late {
		return done(p.q, nil, umad.ErrTimeout)
	}
	return done(p.q, &p.d, nil)
}

// release lets go what a node held back: the next, or all if it is dead.
func (x *exchange[Q]) release(n *queue[Q], late bool) {
	n.asking--
	n.silent++
	if !late {
		n.silent = 0
	}
	ready := min(1, len(n.held))
	if n.silent >= giveUp {
		ready = len(n.held)
	}
	x.ready = append(x.ready, n.held[:ready]...)
	n.held = n.held[ready:]
}

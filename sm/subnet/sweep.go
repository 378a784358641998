package subnet

import (
	"context"
	"errors"
	"fmt"

	"heddle/mad"
	"heddle/umad"
)

// Options says how to ask. Zero means the default.
type Options struct {
	// Window is how many requests may be outstanding, 64 by default, PerNode
	// how many of them to one node, 2 by default.
	Window, PerNode int
	Call            umad.CallOptions
	// MKey is put into each request.
	MKey mad.MKey
	// Progress is told now and then how many nodes are known.
	Progress func(nodes int)
}

const (
	defaultWindow  = 64
	defaultPerNode = 2
)

// answer is what came of a question.
type answer struct {
	q   question
	d   mad.Datagram
	err error
}

// runner asks the questions of a walk.
type runner struct {
	*walk
	o        Options
	port     *umad.Port
	answers  chan answer
	out      int // questions not answered
	requests int
}

// Sweep discovers the subnet of a port. Nodes that do not answer are among the
// faults of the view; the error is of the port, of the own node, or of the
// context.
func Sweep(ctx context.Context, port *umad.Port, o Options) (*View, error) {
	if o.Window <= 0 {
		o.Window = defaultWindow
	}
	if o.PerNode <= 0 {
		o.PerNode = defaultPerNode
	}
	r := &runner{walk: newWalk(), o: o, port: port, answers: make(chan answer, o.Window)}
	if err := r.run(ctx); err != nil {
		return nil, err
	}
	v := r.view()
	v.Requests = r.requests
	return v, nil
}

func (r *runner) run(ctx context.Context) error {
	for {
		if err := r.send(); err != nil {
			return err
		}
		if r.out == 0 {
			return nil
		}
		select {
		case a := <-r.answers:
			if err := r.receive(a); err != nil {
				return err
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// send asks as much as the windows allow. Questions to a node that has enough
// of them wait there.
func (r *runner) send() error {
	for r.out < r.o.Window {
		q, ok := r.take()
		if !ok {
			return nil
		}
		if q.node != nil && q.node.asking >= r.o.PerNode {
			q.node.held = append(q.node.held, q)
			continue
		}
		if err := r.start(q); err != nil {
			return err
		}
	}
	return nil
}

func (r *runner) start(q question) error {
	m := &umad.Message{Address: umad.ByRoute(), Data: make([]byte, mad.Size)}
	d := m.Datagram()
	d.SetHeader(mad.Header{
		Class: mad.ClassDirected, ClassVersion: 1, Method: mad.MethodGet, Attr: q.attr, Modifier: q.modifier,
	})
	d.SetMKey(r.o.MKey)
	if err := d.SetPath(q.path); err != nil {
		return err
	}
	err := r.port.Start(m, r.o.Call, func(m *umad.Message, err error) {
		a := answer{q: q, err: err}
		if err == nil {
			a.d = *m.Datagram()
		}
		r.answers <- a // there is room for all that is outstanding
	})
	if err != nil {
		return fmt.Errorf("sweep: %w", err)
	}
	r.out++
	r.requests++
	if q.node != nil {
		q.node.asking++
	}
	return nil
}

// receive gives an answer to the walk, and what its node held back to be asked.
func (r *runner) receive(a answer) error {
	r.out--
	if n := a.q.node; n != nil {
		n.asking--
		if len(n.held) > 0 {
			r.ask(n.held[0])
			n.held = n.held[1:]
		}
	}
	if a.err != nil && !errors.Is(a.err, umad.ErrTimeout) {
		return fmt.Errorf("sweep: %w", a.err)
	}
	known := len(r.nodes)
	if a.err == nil {
		a.err = r.answered(a.q, &a.d)
	} else {
		a.err = umad.ErrTimeout
	}
	if a.err != nil && a.q.attr == mad.AttrNodeInfo && a.q.from == nil && a.q.node == nil {
		return fmt.Errorf("sweep: the own node: %w", a.err)
	}
	if a.err != nil {
		r.unanswered(a.q, a.err)
	}
	if r.o.Progress != nil && len(r.nodes) > known {
		r.o.Progress(len(r.nodes))
	}
	return nil
}

package subnet

import (
	"context"
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
	// ClearChanges lets a sweep clear PortStateChange of switches, as only a
	// subnet manager may.
	ClearChanges bool
	// PKeys asks for the P_Key tables of the ports with a LID.
	PKeys bool
	// Progress is told now and then how many nodes are known.
	Progress func(nodes int)
}

const (
	defaultWindow  = 64
	defaultPerNode = 2
)

func (o Options) filled() Options {
	if o.Window <= 0 {
		o.Window = defaultWindow
	}
	if o.PerNode <= 0 {
		o.PerNode = defaultPerNode
	}
	if o.Progress == nil {
		o.Progress = func(int) {}
	}
	return o
}

// Sweep discovers the subnet of a port. Nodes that do not answer are among the
// faults of the view; the error is of the port, of the own node, or of the
// context.
func Sweep(ctx context.Context, port *umad.Port, o Options) (*View, error) {
	o = o.filled()
	w := newWalk()
	w.clear = o.ClearChanges
	w.pkeys = o.PKeys
	done := func(q question, d *mad.Datagram, err error) error {
		known := len(w.nodes)
		if err == nil {
			err = w.answered(q, d)
		}
		if err != nil && q.isOwn() {
			return fmt.Errorf("the own node: %w", err)
		}
		if err != nil {
			w.unanswered(q, err)
		}
		if len(w.nodes) > known {
			o.Progress(len(w.nodes))
		}
		return nil
	}
	requests, err := Exchange(ctx, port, o, w.take, question.request, done)
	if err != nil {
		return nil, fmt.Errorf("sweep: %w", err)
	}
	v := w.view()
	v.Requests = requests
	return v, nil
}

// isOwn tells whether the question is the first of all.
func (q question) isOwn() bool { return q.attr == mad.AttrNodeInfo && q.from == nil }

func (q question) request() Request {
	r := Request{Node: q.node, Path: q.path, Method: mad.MethodGet, Attr: q.attr, Modifier: q.modifier}
	if q.data != nil {
		r.Method, r.Data = mad.MethodSet, q.data
	}
	return r
}

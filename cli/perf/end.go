package perf

import (
	"context"
	"errors"
	"fmt"

	"heddle/verbs"
)

// End is an opened device that tests run on, one after the other.
type End struct {
	dev  verbs.Context
	name string
	caps verbs.Caps
}

// Open opens a device for tests; the name is what the other end is told.
func Open(d verbs.Device, name string) (*End, error) {
	dev, err := d.Open()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return &End{dev: dev, name: name, caps: dev.Caps()}, nil
}

// Close closes the device.
func (e *End) Close() error { return e.dev.Close() }

// Fits tells why the device cannot do a test, nil where it can.
func (e *End) Fits(s Spec) error {
	s, err := s.Filled()
	if err != nil {
		return err
	}
	caps := e.caps.Assume(s.Assume...)
	return s.fits(&caps)
}

// Run runs a test with the other end, which serves, and begins it.
func (l *Link) Run(e *End, s Spec) (Result, error) {
	s, err := s.Filled()
	if err != nil {
		return Result{}, err
	}
	if err := l.send(request{Verbs: &s}); err != nil {
		return Result{}, err
	}
	return l.trial(e, s, true)
}

// Serve runs the tests that the other end asks for, until it goes; each result is
// told to watch, but those of channels.
func (l *Link) Serve(e *End, watch func(Result)) error {
	for {
		var ask request
		err := l.receive(&ask)
		switch {
		case errors.Is(err, errGone):
			return nil
		case err != nil:
			return l.fail(err)
		case ask.Channel != nil:
			err = l.serveChannel(e, *ask.Channel)
		case ask.Verbs != nil:
			err = l.serveVerbs(e, *ask.Verbs, watch)
		default:
			err = l.fail(errors.New("the other end asks for nothing"))
		}
		if err != nil {
			return err
		}
	}
}

func (l *Link) serveVerbs(e *End, s Spec, watch func(Result)) error {
	s, err := s.Filled()
	if err != nil {
		return l.fail(err)
	}
	r, err := l.trial(e, s, false)
	if err == nil {
		watch(r)
	}
	return err
}

// trial runs a test at this end.
func (l *Link) trial(e *End, s Spec, first bool) (r Result, err error) {
	if s.Test == Socket {
		return l.socketTrial(e, s, first)
	}
	ctx, cancel := context.WithTimeoutCause(l.ctx, s.Timeout, fmt.Errorf("not done after %v", s.Timeout))
	defer cancel()
	t := &trial{Spec: s, ctx: ctx, end: e, caps: e.caps.Assume(s.Assume...), first: first, area: shape(&s)}
	defer func() {
		if e := t.close(); err == nil {
			err = e
		}
	}()
	if err = t.fits(&t.caps); err != nil {
		return r, l.fail(fmt.Errorf("%s: %w", e.name, err))
	}
	if err = t.make(); err != nil {
		return r, l.fail(fmt.Errorf("%s: %w", e.name, err))
	}
	return l.carryOut(t)
}

// hello is what an end tells of itself.
type hello struct {
	Name     string
	Endpoint []byte
	Addr     uint64
	RKey     uint32
	Socket   string // of Socket
}

// carryOut connects, measures, and exchanges the results.
func (l *Link) carryOut(t *trial) (r Result, err error) {
	if err = l.swap(t.hello(), &t.peer); err != nil {
		return r, l.fail(err)
	}
	if err = t.connect(); err != nil {
		return r, l.fail(fmt.Errorf("%s: %w", t.end.name, err))
	}
	if err = l.swap(struct{}{}, &struct{}{}); err != nil { // both are ready
		return r, l.fail(err)
	}
	mine, err := t.measure()
	if err != nil {
		return r, l.fail(fmt.Errorf("%s: %w", t.end.name, err))
	}
	var theirs measured
	if err = l.swap(mine, &theirs); err != nil {
		return r, l.fail(err)
	}
	if t.first {
		return t.result(mine, theirs), nil
	}
	return t.result(theirs, mine), nil
}

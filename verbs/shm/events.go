//go:build linux && (amd64 || arm64)

package shm

import (
	"context"
	"sync"

	"heddle/verbs"
)

// maxEvents is how many events wait for their reader; the oldest are lost then.
const maxEvents = 4096

// events are the asynchronous events of a context.
type events struct {
	some chan struct{} // holds one: there may be something

	mu     sync.Mutex
	list   []verbs.Event
	closed bool
}

func (e *events) add(event verbs.Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.list) == maxEvents {
		e.list = e.list[1:]
	}
	e.list = append(e.list, event)
	e.signal()
}

// signal wakes a reader; mu is held.
func (e *events) signal() {
	select {
	case e.some <- struct{}{}:
	default:
	}
}

func (e *events) close() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.closed = true
	e.signal()
}

// take is the oldest event. A reader that took one wakes the next.
func (e *events) take() (event verbs.Event, ok bool, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case len(e.list) > 0:
		event, e.list = e.list[0], e.list[1:]
		ok = true
	case e.closed:
		err = verbs.ErrClosed
	}
	if len(e.list) > 0 || e.closed {
		e.signal()
	}
	return event, ok, err
}

// Event implements verbs.Context.
func (o *opened) Event(ctx context.Context) (verbs.Event, error) {
	for {
		if event, ok, err := o.events.take(); ok || err != nil {
			return event, err
		}
		select {
		case <-o.events.some:
		case <-ctx.Done():
			return verbs.Event{}, context.Cause(ctx)
		}
	}
}

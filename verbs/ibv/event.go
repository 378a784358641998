//go:build linux && (amd64 || arm64)

package ibv

import (
	"context"
	"errors"
	"sync"
	"unsafe"

	"heddle/ib"
	"heddle/verbs"
)

// eventQueue reads a context's asynchronous events as they come, so that an
// overrun is known to the CQ whether anybody asks for events or not.
type eventQueue struct {
	ctx  *deviceContext
	file *eventFile
	done chan struct{} // closed when nothing comes any more
	news chan struct{} // has something after an event was added

	mu      sync.Mutex
	waiting []verbs.Event // guarded by mu
	end     error         // of Event, after done; guarded by mu
	// objects are what events may be about, by their addresses; guarded by mu.
	objects map[uintptr]any
}

func newEventQueue(c *deviceContext) (*eventQueue, error) {
	file, err := newEventFile(c.c.AsyncFD, c.name+": events")
	if err != nil {
		return nil, err
	}
	q := &eventQueue{ctx: c, file: file, done: make(chan struct{}), news: make(chan struct{}, 1), objects: make(map[uintptr]any)}
	go q.read()
	return q, nil
}

// add and remove say which objects there are.
func (q *eventQueue) add(at uintptr, object any) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.objects[at] = object
}

func (q *eventQueue) remove(at uintptr) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.objects, at)
}

// read runs until the queue is closed or the device is gone.
func (q *eventQueue) read() {
	defer close(q.done)
	for {
		if err := q.readOne(); err != nil {
			q.mu.Lock()
			q.end = err
			q.mu.Unlock()
			return
		}
	}
}

func (q *eventQueue) readOne() error {
	lib, raw := q.ctx.lib, new(ibvEvent)
	err := q.file.wait(context.Background(), func() (bool, error) {
		ret, errno := invoke(lib, lib.getAsyncEvent, ptr(q.ctx.c), uintptr(unsafe.Pointer(raw)))
		switch {
		case int32(ret) == 0:
			return true, nil
		case again(errno):
			return false, nil
		}
		return false, errors.Join(errno, verbs.ErrNoDevice)
	})
	if err != nil {
		return err
	}
	event, ok := q.translate(raw)
	if ok && event.Type == verbs.EventCQ {
		q.overrun(event.CQ.(*cq))
	}
	// An object is not destroyed before its events are acknowledged.
	_, _ = invoke(lib, lib.ackAsyncEvent, uintptr(unsafe.Pointer(raw))) // it returns nothing
	if ok {
		q.mu.Lock()
		q.waiting = append(q.waiting, event)
		q.mu.Unlock()
		select {
		case q.news <- struct{}{}:
		default:
		}
	}
	return nil
}

// eventTypes are the events by libibverbs' numbers; path migration is not
// offered, and who manages the subnet concerns no program.
var eventTypes = [...]verbs.EventType{
	0: verbs.EventCQ, 1: verbs.EventQPFatal, 2: verbs.EventQPRequest, 3: verbs.EventQPAccess,
	4: verbs.EventEstablished, 5: verbs.EventSQDrained, eventDeviceFail: verbs.EventDeviceFatal,
	9: verbs.EventPortActive, 10: verbs.EventPortError, 11: verbs.EventLID, 12: verbs.EventPKeys,
	14: verbs.EventSRQ, 15: verbs.EventSRQLimit, 16: verbs.EventLastWQE, 17: verbs.EventReregister,
	18: verbs.EventGIDs,
}

// translate puts an event in the words of package verbs. It is not ok where it
// has none, or the object is closed.
func (q *eventQueue) translate(raw *ibvEvent) (e verbs.Event, ok bool) {
	if int(raw.Type) >= len(eventTypes) || eventTypes[raw.Type] == 0 {
		return e, false
	}
	e.Type = eventTypes[raw.Type]
	switch e.Type { //nolint:exhaustive // the rest is of objects
	case verbs.EventDeviceFatal:
		return e, true
	case verbs.EventPortActive, verbs.EventPortError, verbs.EventLID, verbs.EventPKeys, verbs.EventReregister, verbs.EventGIDs:
		e.Port = uint8(raw.Element)
		return e, true
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	switch object := q.objects[raw.Element].(type) {
	case *cq:
		e.CQ = object
	case *qp:
		e.QP, e.QPN = object, ib.QPN(object.c.Num)
	case *srq:
		e.SRQ = object
	default:
		return e, false
	}
	return e, true
}

// overrun marks a CQ, and takes its QPs into error where the device does not
// (case V4).
func (q *eventQueue) overrun(full *cq) {
	full.overrun.Store(true)
	var users []*qp
	q.mu.Lock()
	for _, object := range q.objects {
		if user, ok := object.(*qp); ok && (user.attr.SendCQ == full || user.attr.RecvCQ == full) {
			users = append(users, user)
		}
	}
	q.mu.Unlock()
	for _, user := range users {
		_ = user.Modify(verbs.Err) // one that is closed, or in error, is as good
	}
}

func (q *eventQueue) next(ctx context.Context) (verbs.Event, error) {
	for {
		q.mu.Lock()
		if len(q.waiting) > 0 {
			e := q.waiting[0]
			q.waiting = q.waiting[1:]
			if len(q.waiting) > 0 {
				select {
				case q.news <- struct{}{}:
				default:
				}
			}
			q.mu.Unlock()
			return e, nil
		}
		end := q.end
		q.mu.Unlock()
		if end != nil {
			return verbs.Event{}, q.ctx.failed("event", end)
		}
		select {
		case <-ctx.Done():
			return verbs.Event{}, ctx.Err()
		case <-q.news:
		case <-q.done:
		}
	}
}

// close ends the reading and who waits for events.
func (q *eventQueue) close() error {
	err := q.file.close()
	<-q.done
	return err
}

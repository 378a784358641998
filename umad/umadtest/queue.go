package umadtest

import (
	"net"
	"slices"
	"time"

	"heddle/umad"
)

// Inject has the device receive m, as if somebody had sent it, of whatever
// class.
func (d *Device) Inject(m *umad.Message) { d.put(parcel{time.Now(), m.Clone(), 0}) }

func (d *Device) put(p parcel) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.closed {
		d.insert(p)
	}
}

// insert keeps the queue sorted by time, in the order of sending where times
// are the same. The lock is held.
func (d *Device) insert(p parcel) {
	at := len(d.queue)
	for at > 0 && d.queue[at-1].at.After(p.at) {
		at--
	}
	d.queue = slices.Insert(d.queue, at, p)
	d.signal()
}

func (d *Device) signal() {
	select {
	case d.ready <- struct{}{}:
	default:
	}
}

// Receive waits for the next datagram.
func (d *Device) Receive(m *umad.Message) error {
	for {
		next, wait, err := d.next(time.Now())
		switch {
		case err != nil:
			return err
		case next != nil:
			m.Address, m.Err = next.Address, next.Err
			m.Data = append(m.Data[:0], next.Data...)
			return nil
		case wait < 0:
			<-d.ready
		default:
			d.sleep(wait)
		}
	}
}

func (d *Device) sleep(wait time.Duration) {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-d.ready:
	}
}

// next is what has arrived, or how long to wait for what comes first: below 0
// where nothing is on its way.
func (d *Device) next(now time.Time) (*umad.Message, time.Duration, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for !d.closed && len(d.queue) > 0 {
		if first := d.queue[0]; first.at.After(now) {
			return nil, first.at.Sub(now), nil
		}
		p := d.queue[0]
		d.queue = slices.Delete(d.queue, 0, 1)
		if d.delivers(p) {
			return p.m, 0, nil
		}
	}
	if d.closed {
		return nil, 0, net.ErrClosed
	}
	return nil, -1, nil
}

// delivers tells whether a message is for an agent of the device, and ends the
// timer of the request that it answers. The lock is held.
func (d *Device) delivers(p parcel) bool {
	switch {
	case p.try != 0:
		waits := d.asked[tid(p.m)] == p.try
		if waits {
			delete(d.asked, tid(p.m))
		}
		return waits
	case p.m.Err != nil || len(p.m.Data) < 24:
		return true // a test's own
	}
	if p.m.Datagram().IsResponse() {
		delete(d.asked, tid(p.m))
	}
	_, ok := d.agents[p.m.Datagram().Class()]
	return ok
}

// Close ends a Receive that waits.
func (d *Device) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	d.queue = nil
	d.signal()
	return nil
}

package soft

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"

	"heddle/verbs"
	"heddle/verbs/soft/internal/engine"
)

// Device is a device on a link. Contexts of it share the one port.
type Device struct {
	name string
	open func() (Link, error)
	net  *Network // whose time is the device's; nil for real time

	mu   sync.Mutex
	port *port // guarded by mu, as users; nil while nobody has it open
	used int
}

// NewDevice makes a device. Open is called when the device is opened while it is
// not open already; the link is closed with the last context.
func NewDevice(name string, open func() (Link, error)) *Device {
	return &Device{name: name, open: open}
}

// Name implements verbs.Device.
func (d *Device) Name() string { return d.name }

// Open implements verbs.Device.
func (d *Device) Open() (verbs.Context, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.port == nil {
		link, err := d.open()
		if err != nil {
			return nil, &verbs.OpError{Verb: "open", Device: d.name, Err: err}
		}
		if d.port, err = newPort(d.name, link, d.net); err != nil {
			return nil, &verbs.OpError{Verb: "open", Device: d.name, Err: err}
		}
	}
	d.used++
	o := &opened{dev: d, port: d.port, some: make(chan struct{}, 1), closed: make(chan struct{})}
	o.attr = d.port.limits()
	o.caps = d.port.caps()
	return o, nil
}

// Stats counts packets, and what went wrong with them.
type Stats = engine.Stats

// Stats counts since the device was opened.
func (d *Device) Stats() Stats {
	d.mu.Lock()
	p := d.port
	d.mu.Unlock()
	if p == nil {
		return Stats{}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.engine.Stats
}

// leave closes the port with its last context.
func (d *Device) leave() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.used--; d.used > 0 {
		return nil
	}
	p := d.port
	d.port = nil
	return p.close()
}

const (
	maxQueue  = 1 << 14 // requests
	maxSGE    = 16
	maxInline = 512
)

func (p *port) limits() verbs.DeviceAttr {
	return verbs.DeviceAttr{
		NodeGUID: p.link.Attr().GUID, Firmware: "software", Ports: 1,
		MaxQP: 1 << 20, MaxCQ: 1 << 20, MaxMR: 1 << 16, MaxPD: 1 << 20, MaxAH: 1 << 20, MaxSRQ: 1 << 20,
		MaxQPWR: maxQueue, MaxSRQWR: maxQueue, MaxCQE: 1 << 20, MaxSGE: maxSGE, MaxInline: maxInline,
		MaxMRSize: math.MaxInt64, MaxReads: 16, MaxReadsInit: 16,
	}
}

func (p *port) caps() verbs.Caps {
	sends := verbs.OpsOf(verbs.OpSend, verbs.OpSendImm)
	writes := verbs.OpsOf(verbs.OpWrite, verbs.OpWriteImm)
	asks := verbs.OpsOf(verbs.OpRead, verbs.OpFetchAdd, verbs.OpCompareSwap)
	made := verbs.Promise{Holds: true, Origin: verbs.ByConstruction}
	return verbs.Caps{
		Ops:             [4]verbs.Ops{verbs.RC: sends | writes | asks, verbs.UC: sends | writes, verbs.UD: sends},
		WriteOrder:      verbs.ByteOrder{Chunk: 1, Last: 8, Origin: verbs.ByConstruction},
		FetchOrder:      verbs.ByteOrder{Chunk: verbs.AllBytes, Origin: verbs.ByConstruction},
		PlacementOrder:  made,
		CompletionOrder: made,
		DeliveryOrder:   made,
		AtomicsWithCPU:  made,
		MaxMessage:      engine.MaxMessage, MTU: p.link.Attr().MTU.Bytes(), MaxInline: maxInline, MaxSGE: maxSGE,
		SRQ: true, Multicast: true, BlockLoopback: true,
	}
}

// opened is a device that was opened.
type opened struct {
	dev  *Device
	port *port
	attr verbs.DeviceAttr
	caps verbs.Caps

	some   chan struct{} // holds one; there are events
	closed chan struct{}
	events []verbs.Event // guarded by port.mu, as all below
	made   int           // PDs and CQs
	shut   bool
}

// Name implements verbs.Context.
func (o *opened) Name() string { return o.dev.name }

// Attr implements verbs.Context.
func (o *opened) Attr() verbs.DeviceAttr { return o.attr }

// Caps implements verbs.Context.
func (o *opened) Caps() verbs.Caps { return o.caps }

func (o *opened) failure(verb string, err error) error {
	return &verbs.OpError{Verb: verb, Device: o.dev.name, Err: err}
}

// Port implements verbs.Context.
func (o *opened) Port(number uint8) (verbs.PortAttr, error) {
	if number != 1 {
		return verbs.PortAttr{}, o.failure(fmt.Sprintf("port %d", number), verbs.ErrNotFound)
	}
	a := o.port.link.Attr()
	return verbs.PortAttr{
		State: a.State, LinkLayer: a.Layer, MaxMTU: a.MTU, ActiveMTU: a.MTU, LID: a.LID, SMLID: a.SMLID, LMC: a.LMC,
		GIDs: len(a.GIDs), PKeys: len(a.PKeys), Rate: a.Rate, MaxMessage: engine.MaxMessage,
	}, nil
}

// GID implements verbs.Context.
func (o *opened) GID(port uint8, index int) (verbs.GIDEntry, error) {
	a := o.port.link.Attr()
	if port != 1 || index < 0 || index >= len(a.GIDs) {
		return verbs.GIDEntry{}, o.failure(fmt.Sprintf("GID %d of port %d", index, port), verbs.ErrNotFound)
	}
	return a.GIDs[index], nil
}

// tell adds an asynchronous event; port.mu is held.
func (o *opened) tell(e verbs.Event) {
	o.events = append(o.events, e)
	select {
	case o.some <- struct{}{}:
	default:
	}
}

// next takes an event, if there is one.
func (o *opened) next(e *verbs.Event) (bool, error) {
	o.port.mu.Lock()
	defer o.port.mu.Unlock()
	if o.shut {
		return false, verbs.ErrClosed
	}
	if len(o.events) == 0 {
		return false, nil
	}
	*e = o.events[0]
	o.events = slices.Delete(o.events, 0, 1)
	return true, nil
}

// Event implements verbs.Context.
func (o *opened) Event(ctx context.Context) (e verbs.Event, err error) {
	if n := o.port.net; n != nil {
		err = n.wait(ctx, func() (bool, error) { return o.next(&e) })
		return e, err
	}
	for {
		if ctx.Err() != nil {
			return e, context.Cause(ctx)
		}
		if some, err := o.next(&e); some || err != nil {
			return e, err
		}
		select {
		case <-o.some:
		case <-o.closed:
		case <-ctx.Done():
		}
	}
}

// Await implements verbs.Context.
func (o *opened) Await(ctx context.Context, ready func() bool) error {
	happened := func() (bool, error) {
		if ready() {
			return true, nil
		}
		select {
		case <-o.closed:
			return false, verbs.ErrClosed
		default:
			return false, nil
		}
	}
	if n := o.port.net; n != nil {
		return n.wait(ctx, happened)
	}
	if ok, err := o.spin(happened); ok || err != nil {
		return err
	}
	if p := o.port.poller; p != nil {
		p.sleep()
		defer p.wake()
	}
	for {
		changed := o.port.changed()
		if ok, err := happened(); ok || err != nil {
			return err
		}
		select {
		case <-changed:
		case <-o.closed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// spins is how often Await looks for packets before it sleeps.
const spins = 24

// spin looks for packets for a while, where that can be done.
func (o *opened) spin(happened func() (bool, error)) (ok bool, err error) {
	p := o.port
	if p.poller == nil {
		return false, nil
	}
	for range spins {
		if ok, err = happened(); ok || err != nil {
			return ok, err
		}
		p.poll()
	}
	return false, nil
}

// usable tells whether something can be made of it; port.mu is held.
func (o *opened) usable() error {
	if o.shut {
		return verbs.ErrClosed
	}
	return nil
}

// Close implements verbs.Context.
func (o *opened) Close() error {
	o.port.mu.Lock()
	switch {
	case o.shut:
		o.port.mu.Unlock()
		return nil
	case o.made > 0:
		defer o.port.mu.Unlock()
		return o.failure(fmt.Sprintf("close: %d PDs and CQs", o.made), verbs.ErrBusy)
	}
	o.shut = true
	close(o.closed)
	o.port.mu.Unlock()
	return o.dev.leave()
}

var (
	_ verbs.Device  = (*Device)(nil)
	_ verbs.Context = (*opened)(nil)
)

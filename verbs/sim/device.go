package sim

import (
	"context"
	"fmt"
	"math"
	"slices"

	"heddle/ib"
	"heddle/verbs"
	"heddle/verbs/internal/queue"
)

// Device is one of a network's devices, with one port.
type Device struct {
	net     *Network
	name    string
	number  uint32 // from 1
	guid    ib.GUID
	gid     ib.GID
	lid     ib.LID
	mtu     ib.MTU
	regions queue.Regions

	windows map[uint32]*mw // that are bound, by key; guarded by net.mu, as all below
	memory  int            // bytes of device memory that are allocated
	qps     map[ib.QPN]*qp
	last    ib.QPN
	pds     uint32
	opened  []*opened
	stats   Stats
	dead    bool

	atomicsUntil ticks // an atomic is being executed
}

// Add adds a device. Names are unique in a network.
func (n *Network) Add(name string) (*Device, error) {
	n.enter()
	defer n.leave()
	if n.shut {
		return nil, verbs.ErrClosed
	}
	for _, d := range n.devices {
		if d.name == name {
			return nil, fmt.Errorf("add device %s: there is one: %w", name, verbs.ErrInvalid)
		}
	}
	number := uint32(len(n.devices) + 1)
	if number > ib.NumUnicastLIDs {
		return nil, fmt.Errorf("add device %s: no LID is left: %w", name, verbs.ErrInvalid)
	}
	guid := ib.GUID(0x0200_0000_5100_0000 | uint64(number))
	d := &Device{
		net: n, name: name, number: number, guid: guid, gid: ib.NewGID(ib.DefaultPrefix, guid), lid: ib.LID(number),
		mtu: n.cfg.Profile.MTU, qps: map[ib.QPN]*qp{}, windows: map[uint32]*mw{}, last: ib.QPN(15 + 16*(number%1024)),
	}
	n.devices = append(n.devices, d)
	return d, nil
}

// LimitMTU has the device's link carry packets of no more than that.
func (d *Device) LimitMTU(to ib.MTU) error {
	d.net.enter()
	defer d.net.leave()
	if !to.IsValid() || to > d.net.cfg.Profile.MTU {
		return fmt.Errorf("limit the MTU of %s to %v: %w", d.name, to, verbs.ErrInvalid)
	}
	d.mtu = to
	return nil
}

// Name implements verbs.Device.
func (d *Device) Name() string { return d.name }

// Stats counts what all its QPs did.
func (d *Device) Stats() Stats {
	d.net.mu.Lock()
	defer d.net.mu.Unlock()
	return d.stats
}

// Open implements verbs.Device.
func (d *Device) Open() (verbs.Context, error) {
	d.net.enter()
	defer d.net.leave()
	if d.net.shut || d.dead {
		return nil, fmt.Errorf("open %s: %w", d.name, verbs.ErrNoDevice)
	}
	c := &opened{net: d.net, dev: d}
	d.opened = append(d.opened, c)
	return c, nil
}

// Kill ends the device at once, as if its host had lost power. Its own QPs are in
// error; others find out by themselves, at once only where Caps has PeerGone.
func (d *Device) Kill() {
	d.net.enter()
	defer d.net.leave()
	d.kill()
}

func (d *Device) kill() {
	if d.dead {
		return
	}
	d.dead = true
	for _, c := range d.opened {
		c.tell(verbs.Event{Type: verbs.EventDeviceFatal})
	}
	for _, q := range d.sorted() {
		q.fail()
	}
	if !d.net.cfg.Profile.PeerGone {
		return
	}
	for _, other := range d.net.devices {
		for _, q := range other.sorted() {
			if q.remote != nil && q.remote.pd.ctx.dev == d && !other.dead {
				d.net.schedule(event{at: d.net.arrivalTime(), kind: peerGone, qp: q, epoch: q.epoch})
			}
		}
	}
}

// sorted are the QPs in an order that is the same each time.
func (d *Device) sorted() []*qp {
	list := make([]*qp, 0, len(d.qps))
	for _, q := range d.qps {
		list = append(list, q)
	}
	slices.SortFunc(list, func(a, b *qp) int { return int(a.number) - int(b.number) })
	return list
}

// opened is a device that was opened.
type opened struct {
	net *Network
	dev *Device

	events []verbs.Event // guarded by net.mu, as all below
	made   int           // PDs and CQs
	closed bool
}

const maxQueue = 1 << 14 // requests

// Name implements verbs.Context.
func (c *opened) Name() string { return c.dev.name }

// Attr implements verbs.Context.
func (c *opened) Attr() verbs.DeviceAttr {
	p := &c.net.cfg.Profile
	a := verbs.DeviceAttr{
		NodeGUID: c.dev.guid, Firmware: p.Name, Ports: 1,
		MaxQP: 1 << 20, MaxCQ: 1 << 20, MaxMR: 1 << 16, MaxPD: 1 << 20, MaxAH: 1 << 20,
		MaxQPWR: maxQueue, MaxCQE: 1 << 20, MaxSGE: p.MaxSGE, MaxInline: p.MaxInline,
		MaxMRSize: math.MaxInt64, MaxReads: 16, MaxReadsInit: 16, MaxDM: p.DeviceMemory,
	}
	if p.Windows1 || p.Windows2 {
		a.MaxMW = 1 << 16
	}
	if p.SRQ {
		a.MaxSRQ, a.MaxSRQWR = 1<<20, maxQueue
	}
	return a
}

// Caps implements verbs.Context.
func (c *opened) Caps() verbs.Caps { return c.net.caps }

// Port implements verbs.Context.
func (c *opened) Port(number uint8) (verbs.PortAttr, error) {
	if number != 1 {
		return verbs.PortAttr{}, fmt.Errorf("port %d of %s, which has one: %w", number, c.dev.name, verbs.ErrNotFound)
	}
	c.net.mu.Lock()
	defer c.net.mu.Unlock()
	return verbs.PortAttr{
		State: verbs.PortActive, LinkLayer: verbs.LinkInfiniBand, MaxMTU: c.net.cfg.Profile.MTU, ActiveMTU: c.dev.mtu,
		LID: c.dev.lid, SMLID: 1, GIDs: 1, PKeys: 1, MaxMessage: uint32(c.net.cfg.Profile.maxMessage()),
	}, nil
}

// GID implements verbs.Context.
func (c *opened) GID(port uint8, index int) (verbs.GIDEntry, error) {
	if port != 1 || index != 0 {
		return verbs.GIDEntry{}, fmt.Errorf("GID %d of port %d of %s, which has one: %w", index, port, c.dev.name, verbs.ErrNotFound)
	}
	return verbs.GIDEntry{GID: c.dev.gid, Type: verbs.GIDInfiniBand}, nil
}

// hasGID tells whether a GID, or its zero value for any, is the port's.
func (c *opened) hasGID(g ib.GID, t verbs.GIDType) error {
	if g != (ib.GID{}) && g != c.dev.gid {
		return fmt.Errorf("GID %v is not of %s, which has %v: %w", g, c.dev.name, c.dev.gid, verbs.ErrNotFound)
	}
	if t != verbs.GIDAny && t != verbs.GIDInfiniBand {
		return fmt.Errorf("%s has no GID of type %v: %w", c.dev.name, t, verbs.ErrNotFound)
	}
	return nil
}

// tell adds an asynchronous event; mu is held.
func (c *opened) tell(e verbs.Event) { c.events = append(c.events, e) }

// Event implements verbs.Context.
func (c *opened) Event(ctx context.Context) (e verbs.Event, err error) {
	err = c.net.wait(ctx, func() (bool, error) {
		c.net.mu.Lock()
		defer c.net.mu.Unlock()
		if c.closed {
			return false, verbs.ErrClosed
		}
		if len(c.events) == 0 {
			return false, nil
		}
		e, c.events = c.events[0], c.events[1:]
		return true, nil
	})
	return e, err
}

// Await implements verbs.Context.
func (c *opened) Await(ctx context.Context, ready func() bool) error {
	for {
		generation := c.net.generation.Load()
		if ready() {
			return nil
		}
		if err := c.open(); err != nil {
			return err
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := c.net.idle(ctx, generation); err != nil {
			return err
		}
	}
}

func (c *opened) open() error {
	c.net.mu.Lock()
	defer c.net.mu.Unlock()
	if c.closed || c.net.shut {
		return verbs.ErrClosed
	}
	return nil
}

// usable tells whether something can be made of it; mu is held.
func (c *opened) usable() error {
	switch {
	case c.closed || c.net.shut:
		return verbs.ErrClosed
	case c.dev.dead:
		return fmt.Errorf("%s died: %w", c.dev.name, verbs.ErrNoDevice)
	default:
		return nil
	}
}

// Close implements verbs.Context.
func (c *opened) Close() error {
	c.net.enter()
	defer c.net.leave()
	if c.closed {
		return nil
	}
	if c.made > 0 {
		return fmt.Errorf("close %s: %d PDs and CQs: %w", c.dev.name, c.made, verbs.ErrBusy)
	}
	c.closed = true
	c.dev.opened = slices.DeleteFunc(c.dev.opened, func(o *opened) bool { return o == c })
	return nil
}

var (
	_ verbs.Device  = (*Device)(nil)
	_ verbs.Context = (*opened)(nil)
)

package umadtest

import (
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"time"

	"heddle/ib"
	"heddle/mad"
	"heddle/umad"
)

// Options is how a pair behaves. Zero is a link without delay or fault.
type Options struct {
	Seed uint64
	// Loss and Duplicate are the chances of a datagram to get lost and to come
	// twice, from 0 to 1.
	Loss, Duplicate float64
	// Delay is how long a datagram takes, Jitter how much longer it may take:
	// what is sent later may come earlier.
	Delay, Jitter time.Duration
	// Drop tells of a datagram whether it gets lost, beside those of Loss. It
	// may change the datagram.
	Drop func(from *Device, m *umad.Message) bool
	// Refuse, if not nil, is asked for the error of a Send.
	Refuse func(m *umad.Message) error
	// Features is what the devices say of themselves; Timers they do have, RMPP
	// means that messages of any length pass whole.
	Features umad.Features
	// Forgets lets the timers fail to give requests back.
	Forgets bool
}

// Device is one end of a pair.
type Device struct {
	link  *link
	peer  *Device
	info  umad.Info
	ready chan struct{} // holds one: the queue changed, or Close

	mu     sync.Mutex // guards what follows
	closed bool
	agents map[mad.Class]map[mad.Method]bool
	queue  []parcel       // by time of arrival
	asked  map[uint32]int // the try that waits, by ID
	tries  int
	isSM   bool
	sent   int
	last   *umad.Message
}

// link is what both ends share.
type link struct {
	options Options
	mu      sync.Mutex // guards random
	random  *rand.Rand
}

// parcel is a message on its way.
type parcel struct {
	at  time.Time
	m   *umad.Message
	try int // of a request that comes back when it still waits, or 0
}

var _ umad.Device = (*Device)(nil)

// Pair is two ports, LID 1 and LID 2, of which each receives what the other
// sends, whatever the address says.
func Pair(o Options) (a, b *Device) {
	l := &link{options: o, random: rand.New(rand.NewPCG(o.Seed, 1))}
	a, b = l.device(1), l.device(2)
	a.peer, b.peer = b, a
	return a, b
}

func (l *link) device(lid ib.LID) *Device {
	guid := ib.GUID(0x0002c90000000000 + uint64(lid)<<8)
	return &Device{
		link: l, ready: make(chan struct{}, 1),
		agents: make(map[mad.Class]map[mad.Method]bool), asked: make(map[uint32]int),
		info: umad.Info{
			Name: fmt.Sprintf("umadtest:%d", lid), Device: "umadtest", Port: 1,
			NodeGUID: guid, PortGUID: guid + 1, Prefix: ib.DefaultPrefix,
			LID: lid, SMLID: 1, State: mad.PortActive, PKeys: []ib.PKey{ib.DefaultPKey},
		},
	}
}

// Info is the state of the port, which does not change.
func (d *Device) Info() (umad.Info, error) { return d.info, nil }

// Features is what Options said.
func (d *Device) Features() umad.Features { return d.link.options.Features }

// SetIsSM keeps the bit, see IsSM.
func (d *Device) SetIsSM(on bool) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.isSM = on
	return nil
}

// IsSM tells what SetIsSM set last.
func (d *Device) IsSM() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.isSM
}

// Sent is the number of datagrams that the device was given to send.
func (d *Device) Sent() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.sent
}

// Last is a copy of what the device was given last to send, or nil.
func (d *Device) Last() *umad.Message {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.last == nil {
		return nil
	}
	return d.last.Clone()
}

// Register takes note of a class; no class is unsupported.
func (d *Device) Register(a umad.Agent) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return net.ErrClosed
	}
	methods := d.agents[a.Class]
	for _, m := range a.Methods {
		if methods[m] {
			return fmt.Errorf("%s %s: %w", a.Class, m, umad.ErrClassTaken)
		}
	}
	if methods == nil {
		methods = make(map[mad.Method]bool)
		d.agents[a.Class] = methods
	}
	for _, m := range a.Methods {
		methods[m] = true
	}
	return nil
}

// Send puts a copy of m into the queue of the other device.
func (d *Device) Send(m *umad.Message, timeout time.Duration) error {
	o := &d.link.options
	if err := d.sending(m, timeout); err != nil {
		return err
	}
	if o.Refuse != nil {
		if err := o.Refuse(m); err != nil {
			return err
		}
	}
	c := m.Clone()
	if o.Drop != nil && o.Drop(d, c) {
		return nil
	}
	c.LID = d.info.LID
	for range d.link.copies() {
		d.peer.put(parcel{time.Now().Add(d.link.delay()), c.Clone(), 0})
	}
	return nil
}

// sending counts, and has a request come back when its time is over.
func (d *Device) sending(m *umad.Message, timeout time.Duration) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return net.ErrClosed
	}
	d.sent++
	d.last = m.Clone()
	if timeout > 0 && d.link.options.Features.Timers && !d.link.options.Forgets {
		d.tries++
		d.asked[tid(m)] = d.tries
		back := m.Clone()
		back.Err = umad.ErrTimeout
		d.insert(parcel{time.Now().Add(timeout), back, d.tries})
	}
	return nil
}

// copies is how often a datagram arrives.
func (l *link) copies() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.random.Float64() < l.options.Loss:
		return 0
	case l.random.Float64() < l.options.Duplicate:
		return 2
	default:
		return 1
	}
}

func (l *link) delay() time.Duration {
	if l.options.Jitter == 0 {
		return l.options.Delay
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.options.Delay + time.Duration(l.random.Int64N(int64(l.options.Jitter)))
}

func tid(m *umad.Message) uint32 { return uint32(m.Datagram().TID()) }

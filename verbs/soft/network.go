package soft

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"heddle/ib"
	"heddle/verbs"
)

// Faults are what a Network does to packets, each a probability.
type Faults struct {
	Loss, Duplicate float64
	// Reorder has a packet come later than those after it.
	Reorder float64
}

// NetworkConfig is what a Network is to be like.
type NetworkConfig struct {
	Seed   uint64
	Faults Faults
	// Delay is how long a packet is under way: 1 µs by default.
	Delay time.Duration
	// MTU is that of the links: 4096 by default.
	MTU ib.MTU
}

// Network joins software devices in virtual time: it goes on when somebody waits,
// by an empty Poll, a Wait, an Event or an Await, of which each lets one packet
// arrive or one timer run out. With one goroutine and a seed it does the same each
// time, apart from the numbers of QPs. It is a verbs.Provider.
type Network struct {
	cfg     NetworkConfig
	stepped sync.Mutex // held while something happens

	mu      sync.Mutex
	random  *rand.Rand // guarded by mu, as all below
	now     time.Duration
	events  []happening // a heap
	serial  uint64
	devices []*Device
	wires   map[ib.GID]*wire
	order   []*wire // of wires
	free    [][]byte
	some    chan struct{} // closed when there is something new; nil where nobody waits
}

// happening is a packet that arrives, or a port's timer.
type happening struct {
	at     time.Duration
	serial uint64
	to     *wire
	path   Path
	data   []byte
	timer  *port
}

func (h *happening) before(g *happening) bool {
	return h.at < g.at || h.at == g.at && h.serial < g.serial
}

// NewNetwork makes a network without devices.
func NewNetwork(c NetworkConfig) *Network {
	if c.Delay == 0 {
		c.Delay = time.Microsecond
	}
	if c.MTU == 0 {
		c.MTU = ib.MTU4096
	}
	return &Network{cfg: c, random: rand.New(rand.NewPCG(c.Seed, 0)), wires: map[ib.GID]*wire{}}
}

// Name implements verbs.Provider.
func (n *Network) Name() string { return "soft network" }

// Devices implements verbs.Provider.
func (n *Network) Devices() (list []verbs.Device, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, d := range n.devices {
		list = append(list, d)
	}
	return list, nil
}

// Add adds a device.
func (n *Network) Add(name string) *Device {
	n.mu.Lock()
	defer n.mu.Unlock()
	number := len(n.devices) + 1
	d := &Device{name: name, net: n}
	d.open = func() (Link, error) { return n.connect(number) }
	n.devices = append(n.devices, d)
	return d
}

// connect makes a device's link.
func (n *Network) connect(number int) (Link, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	guid := ib.GUID(0x0200_0000_5200_0000 + uint64(number))
	w := &wire{net: n, guid: guid, gid: ib.NewGID(ib.DefaultPrefix, guid), groups: map[ib.MGID]bool{}}
	if n.wires[w.gid] != nil {
		return nil, fmt.Errorf("it is open: %w", verbs.ErrBusy)
	}
	n.wires[w.gid] = w
	n.order = append(n.order, w)
	return w, nil
}

// Now is the time since the network was made.
func (n *Network) Now() time.Duration {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.now
}

// Step lets the next packet arrive, or the next timer run out, and tells whether
// there was one.
func (n *Network) Step() bool {
	n.stepped.Lock()
	defer n.stepped.Unlock()
	n.mu.Lock()
	if len(n.events) == 0 {
		n.mu.Unlock()
		return false
	}
	h := n.pop()
	n.now = max(n.now, h.at)
	n.mu.Unlock()
	if h.timer != nil {
		h.timer.expired(h.at)
		return true
	}
	h.to.arrive(&h)
	n.mu.Lock()
	n.free = append(n.free, h.data[:0])
	n.mu.Unlock()
	return true
}

// wait lets things happen until something has.
func (n *Network) wait(ctx context.Context, happened func() (bool, error)) error {
	for {
		news := n.news()
		if ok, err := happened(); ok || err != nil {
			return err
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if n.Step() {
			continue
		}
		idle := time.NewTimer(time.Millisecond)
		select {
		case <-news:
		case <-idle.C: // something else than a packet may have happened
		case <-ctx.Done():
		}
		idle.Stop()
	}
}

func (n *Network) news() <-chan struct{} {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.some == nil {
		n.some = make(chan struct{})
	}
	return n.some
}

// wake has a port's timer run out.
func (n *Network) wake(p *port, at time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.push(happening{at: at, timer: p})
}

// push adds what will happen; mu is held.
func (n *Network) push(h happening) {
	n.serial++
	h.serial = n.serial
	s := append(n.events, h)
	i := len(s) - 1
	for i > 0 && h.before(&s[(i-1)/2]) {
		s[i] = s[(i-1)/2]
		i = (i - 1) / 2
	}
	s[i] = h
	n.events = s
	if n.some != nil {
		close(n.some)
		n.some = nil
	}
}

// pop takes out what happens next; mu is held.
func (n *Network) pop() happening {
	s := n.events
	top, h := s[0], s[len(s)-1]
	s[len(s)-1] = happening{}
	s = s[:len(s)-1]
	n.events = s
	i := 0
	for child := 1; child < len(s); child = 2*i + 1 {
		if child+1 < len(s) && s[child+1].before(&s[child]) {
			child++
		}
		if !s[child].before(&h) {
			break
		}
		s[i] = s[child]
		i = child
	}
	if len(s) > 0 {
		s[i] = h
	}
	return top
}

// launch sends a copy of a packet to a wire, to arrive or not; mu is held.
func (n *Network) launch(to *wire, path Path, data []byte) {
	f := &n.cfg.Faults
	if n.chance(f.Loss) {
		return
	}
	copies := 1
	if n.chance(f.Duplicate) {
		copies = 2
	}
	for range copies {
		at := n.now + n.cfg.Delay
		if n.chance(f.Reorder) {
			at += time.Duration(n.random.Int64N(int64(3*n.cfg.Delay) + 1))
		}
		var b []byte
		if k := len(n.free); k > 0 {
			b, n.free = n.free[k-1], n.free[:k-1]
		}
		n.push(happening{at: at, to: to, path: path, data: append(b, data...)})
	}
}

func (n *Network) chance(p float64) bool { return p > 0 && n.random.Float64() < p }

// wire is a device's link to a network.
type wire struct {
	net     *Network
	guid    ib.GUID
	gid     ib.GID
	receive func([]Packet)
	one     [1]Packet

	groups map[ib.MGID]bool // guarded by net.mu, as closed
	closed bool
}

func (w *wire) Attr() LinkAttr {
	return LinkAttr{
		Layer: verbs.LinkEthernet, State: verbs.PortActive, GUID: w.guid, MTU: w.net.cfg.MTU,
		GIDs: []verbs.GIDEntry{{GID: w.gid, Type: verbs.GIDRoCEv2}}, PKeys: []ib.PKey{ib.DefaultPKey},
	}
}

func (w *wire) Start(receive func([]Packet)) error {
	w.receive = receive
	return nil
}

func (w *wire) Send(batch []Packet) {
	n := w.net
	n.mu.Lock()
	defer n.mu.Unlock()
	for i := range batch {
		p := &batch[i]
		back := Path{Remote: w.gid, Local: p.Path.Remote, Hops: 64}
		if to := n.wires[p.Path.Remote]; to != nil {
			n.launch(to, back, p.Data)
			continue
		}
		for _, to := range n.order {
			if to != w && to.groups[ib.MGID(p.Path.Remote)] {
				n.launch(to, back, p.Data)
			}
		}
	}
}

// arrive gives a packet to the device; the network's step lock is held.
func (w *wire) arrive(h *happening) {
	w.net.mu.Lock()
	closed := w.closed
	w.net.mu.Unlock()
	if !closed {
		w.one[0] = Packet{Path: h.path, Data: h.data}
		w.receive(w.one[:])
	}
}

func (w *wire) Join(group ib.MGID, _ ib.MLID) error {
	w.net.mu.Lock()
	defer w.net.mu.Unlock()
	w.groups[group] = true
	return nil
}

func (w *wire) Leave(group ib.MGID, _ ib.MLID) error {
	w.net.mu.Lock()
	defer w.net.mu.Unlock()
	delete(w.groups, group)
	return nil
}

func (w *wire) Close() error {
	w.net.mu.Lock()
	w.closed = true
	delete(w.net.wires, w.gid)
	w.net.order = slices.DeleteFunc(w.net.order, func(o *wire) bool { return o == w })
	w.net.mu.Unlock()
	w.net.stepped.Lock() // what arrives now has
	defer w.net.stepped.Unlock()
	return nil
}

var (
	_ Link           = (*wire)(nil)
	_ verbs.Provider = (*Network)(nil)
)

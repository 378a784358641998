package sim

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"heddle/ib"
	"heddle/verbs"
)

// Config is what a network is to be like.
type Config struct {
	Profile Profile // InOrder by default
	// Seed decides all that happens by chance.
	Seed  uint64
	Clock Clock
	// Delay is how long a packet is under way, 1 µs by default; it is 1 ns of the
	// clock Crossings.
	Delay time.Duration
	// Faults are what goes wrong from the beginning on; see also Network.Impair.
	Faults Faults
	// Trace is told each step, while the network stands still: it may not use
	// the network.
	Trace func(Step)
}

// Network is devices and what joins them. All of its methods, and those of what
// is made of it, may be called by any goroutine.
type Network struct {
	cfg   Config
	id    uint64 // unlike that of any other network
	order order
	caps  verbs.Caps
	began time.Time // in real time

	generation atomic.Uint64 // goes up with each change
	closed     chan struct{}
	stopped    chan struct{} // realTime has returned
	wake       chan struct{} // holds one

	mu        sync.Mutex
	now       ticks // guarded by mu, as all below
	events    events
	scheduled uint64
	random    *rand.Rand
	faults    Faults
	injected  []injection
	devices   []*Device
	groups    map[ib.MGID][]*qp
	pool      []*packet
	rxPool    []*rx
	news      chan struct{} // closed at the next change; nil when nobody waits
	shut      bool
}

// New makes a network without devices.
func New(c Config) (*Network, error) {
	if c.Profile.Name == "" {
		c.Profile = InOrder()
	}
	if !c.Profile.MTU.IsValid() || c.Delay < 0 || !c.Faults.valid() || c.Clock > Real {
		return nil, fmt.Errorf("simulated network: %w", verbs.ErrInvalid)
	}
	c.Delay = cmp.Or(c.Delay, time.Microsecond)
	n := &Network{
		cfg: c, id: rand.Uint64(), order: c.Profile.order(), caps: c.Profile.Caps(), faults: c.Faults,
		closed: make(chan struct{}), stopped: make(chan struct{}), wake: make(chan struct{}, 1),
		random: rand.New(rand.NewPCG(c.Seed, 0x9e3779b97f4a7c15)), groups: map[ib.MGID][]*qp{},
	}
	if c.Clock == Real {
		n.began = time.Now()
		go n.realTime() // Close waits for it
	} else {
		close(n.stopped)
	}
	return n, nil
}

// Name implements verbs.Provider.
func (n *Network) Name() string { return "sim" }

// Devices implements verbs.Provider.
func (n *Network) Devices() ([]verbs.Device, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	list := make([]verbs.Device, 0, len(n.devices))
	for _, d := range n.devices {
		if !d.dead {
			list = append(list, d)
		}
	}
	return list, nil
}

// Now is the time since the network was made; with Crossings, how many there
// were one after the other.
func (n *Network) Now() time.Duration {
	n.enter()
	defer n.mu.Unlock()
	return n.time()
}

func (n *Network) time() time.Duration {
	if n.cfg.Clock == Crossings {
		return time.Duration(n.now / crossing)
	}
	return time.Duration(n.now)
}

// Step runs the next event, whatever time it is of, and tells whether there was
// one. In real time it runs only what is due.
func (n *Network) Step() bool { return n.turn() }

// Settle runs events until there are none, or so many were run. It tells how
// many those were.
func (n *Network) Settle(most int) (ran int) {
	for ran < most && n.turn() {
		ran++
	}
	return ran
}

// Close ends the network: what waits for it gets ErrClosed, and nothing happens
// any more.
func (n *Network) Close() error {
	n.mu.Lock()
	if !n.shut {
		n.shut = true
		n.events = nil
		close(n.closed)
	}
	n.mu.Unlock()
	<-n.stopped
	return nil
}

// run does what an event is; mu is held.
func (n *Network) run(e *event) {
	switch e.kind {
	case arrival:
		n.arrive(e.pkt)
	case placing:
		n.placeNext(e.pkt)
	case fetching:
		n.fetchNext(e.pkt)
	case storing:
		n.atomicStep(e.pkt)
	default:
		if e.qp.epoch == e.epoch && !e.qp.closed {
			e.qp.happen(e.kind)
		}
	}
}

// chance tells whether something of that probability happens.
func (n *Network) chance(p float64) bool { return p > 0 && n.random.Float64() < p }

var _ verbs.Provider = (*Network)(nil)

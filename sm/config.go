package sm

import (
	"cmp"
	"log/slog"
	"math"
	"runtime"
	"time"

	"heddle/mad"
	"heddle/route"
	"heddle/sm/group"
	"heddle/sm/multicast"
	"heddle/sm/plan"
	"heddle/sm/store"
	"heddle/sm/subnet"
)

// Config is how a Manager works. Unicast and Multicast must name an engine; what
// else is zero has a good default.
type Config struct {
	// Unicast are the engines that route unicast, the best first: where one
	// fails, the next is tried, with a warning.
	Unicast []Unicast
	// Multicast are those that lay the trees of groups, in the same way.
	Multicast []multicast.Engine
	// LIDs, Ports and PKeys are the rules of their planners; zero Ports means
	// plan.DefaultPortRules. Where the Store has a LID for a port, LIDs.Keep does
	// not count for it; nor does any of it after another manager was master,
	// unless LIDsAfterStandby says so.
	LIDs  plan.LIDRules
	Ports plan.PortRules
	PKeys plan.PKeyRules

	LIDsAfterStandby bool
	// QoS is how service levels share links, where it is in use or wanted in
	// any case; nil means plan.DefaultQoSRules.
	QoS *plan.QoSRules
	// NoReregister never tells clients to join and subscribe again.
	NoReregister bool
	// Swept is shown what each sweep that came to its end found and did; nil for
	// nobody. It is called by the manager's goroutine, which waits for it.
	Swept func(s Subnet, r *Report)
	// Groups are the rules of multicast groups; its Prefix and Journal are the
	// Manager's.
	Groups group.Config
	// Window is how long joins are collected before they are routed: by default
	// 15 ms after the last, after a short burst of them 5 ms at least, and 2 s
	// at most. A collected group that is complete waits 5 ms where no other
	// collects members, and else until no other got any for 30 ms, 2 s at most.
	Window group.Window
	// SAKey is whom subnet administration trusts: 1 by default.
	SAKey mad.SMKey
	// Priority is from 0 to 15; among several managers the highest wins. SMKey
	// is what those have in common that trust each other: 1 by default, as
	// OpenSM's.
	Priority uint8
	SMKey    mad.SMKey
	// Store is what a manager must still know after its death, and Memory writes
	// to it; without a Memory the store does so alone, and without a Store
	// nothing is kept. Both stay the caller's to close.
	Store  *store.Store
	Memory Memory
	// Poll is how often a standby asks the master, 1 s by default; after Polls
	// without an answer, 4 by default, the master counts as dead.
	Poll  time.Duration
	Polls int
	// Ask is how SMPs are sent.
	Ask subnet.Options
	// Workers is how many goroutines route; zero means one for each CPU.
	Workers int
	// RouteLimit is how long a unicast engine may take, and one of multicast for
	// the trees of a batch or a sweep, before the next is tried: 1 minute by
	// default.
	RouteLimit time.Duration
	// Interval is how often each switch is looked at: 10 s by default, and below
	// zero never. Settle
	// is how long a sweep waits for more of the same event: 50 ms. Retry is
	// how long after a sweep that failed the next one comes: 1 s.
	Interval, Settle, Retry time.Duration
	// Patience is for how many sweeps a node stays that does not answer, though
	// its link is up: 2 by default.
	Patience int
	// Traps are the rules for traps that are repeated.
	Traps TrapRules
	Log   *slog.Logger
}

// Unicast is a routing engine of route/unicast, as the Manager calls it.
type Unicast struct {
	Name string
	// Ranked says that the engine is for fabrics that are layered as trees are
	// (route.Ranks), and is passed over, with a warning, in others.
	Ranked bool
	Route  func(g *route.Graph, h *route.Hops, lids *route.LIDs, workers int) (*route.LFTs, error)
}

func (c Config) filled() Config {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Ports.Reregister == nil {
		c.Ports = plan.DefaultPortRules()
	}
	if c.QoS == nil {
		c.QoS = plan.DefaultQoSRules()
	}
	if c.Workers <= 0 {
		c.Workers = runtime.NumCPU()
	}
	if c.Interval = cmp.Or(c.Interval, 10*time.Second); c.Interval < 0 {
		c.Interval = math.MaxInt64
	}
	c.Settle = cmp.Or(c.Settle, 50*time.Millisecond)
	c.Retry = cmp.Or(c.Retry, time.Second)
	c.Patience = cmp.Or(c.Patience, 2)
	c.RouteLimit = cmp.Or(c.RouteLimit, time.Minute)
	c.SMKey = cmp.Or(c.SMKey, 1)
	c.Ask.ClearChanges, c.Ask.PKeys = true, true
	if c.Window == (group.Window{}) {
		c.Window = group.Window{Quiet: 30 * time.Millisecond, Bound: 2 * time.Second, Least: 5 * time.Millisecond}
	}
	return c
}

// Package lab puts the project's parts together in one process: an emulated subnet,
// a subnet manager that brings it up, and what hosts need to work on it.
//
//	l, err := lab.Start(ctx, fabric, lab.Config{})
//	host := l.Hosts()[0]                 // every adapter but the manager's
//	client, err := host.SA()             // asks subnet administration
//	err = l.Close()
package lab

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"sync"
	"time"

	"heddle/emu"
	"heddle/fabric"
	"heddle/route"
	trees "heddle/route/multicast"
	"heddle/route/unicast"
	"heddle/sa"
	"heddle/sm"
	"heddle/sm/multicast"
	"heddle/umad"
	"heddle/verbs"
)

// Config is what a lab is to be like. Zero means what the comments say.
type Config struct {
	Emu emu.Config
	// Manager is that of the subnet manager; engines are by default updown, then
	// minhop, and weave.
	Manager sm.Config
	// Multicast is the engine that lays the trees, where Manager has none.
	Multicast string
	// ManagerAt is the adapter that the manager runs at; the first one by default.
	ManagerAt int
	// Loss is which part of packets links are going to lose, from 0 to 1. The
	// manager's datagrams are lost with the others, and it asks as often as it
	// takes, unless Manager.Ask tells how often.
	Loss float64
}

// Lab is a subnet that is up. All methods may be called by any goroutine.
type Lab struct {
	Fabric  *fabric.Fabric
	Live    *emu.Live
	Manager *sm.Manager
	// First is what the sweep did that brought the subnet up, BringUp how long all
	// of that took.
	First   sm.Report
	BringUp time.Duration

	hosts []*Host
	port  *umad.Port // the manager's
	stop  context.CancelFunc
	ended chan error

	mu     sync.Mutex
	opened []io.Closer // guarded by mu
}

// Host is an adapter that has no manager.
type Host struct {
	Lab  *Lab
	Node fabric.NodeID
	Name string

	mu     sync.Mutex
	client *sa.Client // guarded by mu, as device
	device verbs.Device
}

// Start brings a fabric up, and returns when it is, or the context ends.
func Start(ctx context.Context, f *fabric.Fabric, cfg Config) (*Lab, error) {
	adapters := f.Adapters()
	if len(adapters) < 2 || cfg.ManagerAt < 0 || cfg.ManagerAt >= len(adapters) {
		return nil, fmt.Errorf("a lab of %d adapters, with the manager at number %d: want two at least", len(adapters), cfg.ManagerAt)
	}
	l := &Lab{Fabric: f, ended: make(chan error, 1)}
	for i, node := range adapters {
		if i != cfg.ManagerAt {
			l.hosts = append(l.hosts, &Host{Lab: l, Node: node, Name: f.Node(node).Name})
		}
	}
	if err := l.start(ctx, f.Node(adapters[cfg.ManagerAt]).Name, cfg); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

func (l *Lab) start(ctx context.Context, at string, cfg Config) (err error) {
	if cfg.Manager, err = engines(cfg); err != nil {
		return err
	}
	if cfg.Loss > 0 && cfg.Manager.Ask.Call == (umad.CallOptions{}) {
		cfg.Manager.Ask.Call = asking(cfg.Loss)
	}
	if l.Live, err = emu.Start(l.Fabric, cfg.Emu); err != nil {
		return err
	}
	dev, err := l.Live.Open(at, 0)
	if err != nil {
		return err
	}
	l.port = umad.NewPort(dev)
	up, before := make(chan sm.Report, 1), cfg.Manager.Swept
	cfg.Manager.Swept = func(s sm.Subnet, r *sm.Report) {
		if before != nil {
			before(s, r)
		}
		select {
		case up <- *r:
		default:
		}
	}
	if l.Manager, err = sm.New(l.port, cfg.Manager); err != nil {
		return err
	}
	began := time.Now()
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	l.stop = stop
	go func() { l.ended <- l.Manager.Run(running) }()
	select {
	case l.First = <-up:
		l.BringUp = time.Since(began)
		return nil
	case err := <-l.ended:
		l.ended <- err
		return fmt.Errorf("the subnet manager ended: %w", err)
	case <-ctx.Done():
		return fmt.Errorf("bring the subnet up: %w", context.Cause(ctx))
	}
}

const (
	// crossings are the links that a question crosses, and its answer.
	crossings = 16
	// vain is how seldom all tries are to be lost.
	vain = 1e-7
	// mostTries bounds how long the dead are asked.
	mostTries = 100
	// tryTime is for one of them: an agent of the emulated subnet answers at once.
	tryTime = 50 * time.Millisecond
)

// asking is how a manager asks where each link loses a part of packets. Subnets
// lose so few that four tries are enough everywhere else: links correct bits, and
// what is lost is what a slow agent had no room for. A twentieth at each of sixteen
// links is more than half of all questions, and a node that was asked four times in
// vain is given up.
func asking(loss float64) umad.CallOptions {
	lost := 1 - math.Pow(1-loss, crossings)
	tries := math.Log(vain) / math.Log(lost)
	return umad.CallOptions{Timeout: tryTime, Retries: int(min(max(tries, 4), mostTries))}
}

// engines fills in those that the manager has not.
func engines(cfg Config) (sm.Config, error) {
	c := cfg.Manager
	if c.Unicast == nil {
		for _, name := range []string{"updown", "minhop"} {
			e, err := unicast.Lookup(name)
			if err != nil {
				return c, err
			}
			c.Unicast = append(c.Unicast, sm.Unicast{
				Name: name, Ranked: name == "updown",
				Route: func(g *route.Graph, h *route.Hops, lids *route.LIDs, workers int) (*route.LFTs, error) {
					return e.Route(g, h, lids, unicast.Options{Workers: workers, Connect: true})
				},
			})
		}
	}
	if c.Multicast != nil {
		return c, nil
	}
	name := cfg.Multicast
	if name == "" {
		name = "weave"
	}
	e, err := trees.Lookup(name)
	if err != nil {
		return c, err
	}
	c.Multicast = []multicast.Engine{{Name: name, New: func(g *route.Graph, h *route.Hops) route.Router {
		return e.New(g, h, trees.Options{})
	}}}
	return c, nil
}

// Hosts are all adapters but the manager's.
func (l *Lab) Hosts() []*Host { return l.hosts }

// Close ends everything.
func (l *Lab) Close() (err error) {
	l.mu.Lock()
	ports := l.opened
	l.opened = nil
	l.mu.Unlock()
	for _, p := range ports {
		err = errors.Join(err, p.Close())
	}
	if l.stop != nil {
		l.stop()
		err = errors.Join(err, <-l.ended)
	}
	if l.port != nil {
		err = errors.Join(err, l.port.Close())
	}
	if l.Live != nil {
		err = errors.Join(err, l.Live.Close())
	}
	return err
}

// SA is a client of subnet administration at the host's port.
func (h *Host) SA() (*sa.Client, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.client != nil {
		return h.client, nil
	}
	dev, err := h.Lab.Live.Open(h.Name, 0)
	if err != nil {
		return nil, err
	}
	port := umad.NewPort(dev)
	h.Lab.keep(port)
	h.client = sa.New(port, sa.Options{})
	return h.client, nil
}

// keep has something closed with the lab.
func (l *Lab) keep(c io.Closer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.opened = append(l.opened, c)
}

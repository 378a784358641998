package lab

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"heddle/collective"
	"heddle/collective/member"
	"heddle/emu"
	"heddle/fabric"
	"heddle/ib"
	"heddle/verbs"
)

// Scenario is what happens in a lab: groups of hosts join, and each has its first
// member broadcast to the others, before, while and after links die.
type Scenario struct {
	Groups  int `json:"groups"`
	Members int `json:"members"` // of each
	// Message is the length of a broadcast in bytes, Rounds how many there are of
	// each group in a phase.
	Message int `json:"message"`
	Rounds  int `json:"rounds"`
	// Cut is how many links die in the middle, Loss which part of packets is lost
	// on each link, from 0 to 1.
	Cut  int     `json:"cut"`
	Loss float64 `json:"loss"`
	Seed uint64  `json:"seed"`
	// Slots is the ring of each group in chunks, 16 by default.
	Slots int `json:"slots"`
}

// Check tells what is wrong with a scenario for a number of hosts.
func (s *Scenario) Check(hosts int) error {
	switch {
	case s.Groups < 1 || s.Groups > int(ib.NumMLIDs):
		return fmt.Errorf("%d groups: want 1 to %d", s.Groups, ib.NumMLIDs)
	case s.Members < 2 || s.Members > hosts:
		return fmt.Errorf("%d members of a group: want 2 to the %d hosts without a manager", s.Members, hosts)
	case s.Message < 1 || s.Rounds < 1:
		return fmt.Errorf("%d rounds of %d bytes: want one at least", s.Rounds, s.Message)
	case s.Loss < 0 || s.Loss >= 1:
		return fmt.Errorf("loss of %v: want 0 to less than 1", s.Loss)
	case s.Cut < 0:
		return fmt.Errorf("%d links to cut", s.Cut)
	}
	return nil
}

// Result is what came of it.
type Result struct {
	// Members are the hosts of each group.
	Members [][]int
	// Joined is from the first join until all groups were ready and connected.
	Joined time.Duration
	// MaxEFI and TreeLinks are of the manager's trees, before and after links died.
	MaxEFI, TreeLinks [2]int
	Phases            []Phase
	Cuts              []Cut
	// Stats are the sum of all ranks'.
	Stats collective.Stats
	// Data is what became of packets on the fabric.
	Data emu.Data
}

// Phase is some rounds of broadcasts.
type Phase struct {
	Name string
	Took time.Duration
	// Broadcasts were sent, and Received by so many members of Expected.
	Broadcasts, Received, Expected int
	// Bytes is what members received.
	Bytes uint64
	// Latencies are from a root's call until the last member had all, in order.
	Latencies []time.Duration
	Stats     collective.Stats
}

// Cut is a link that died.
type Cut struct {
	Link string
	// Trees is how much of the trees' data it had carried so far, as part of all
	// that links between switches carried.
	Share float64
	// Rerouted is how long the manager took until its tables were right again.
	Rerouted time.Duration
}

// Percentile is the latency that so many of a hundred broadcasts did not exceed.
func (p *Phase) Percentile(percent int) time.Duration {
	if len(p.Latencies) == 0 {
		return 0
	}
	return p.Latencies[(len(p.Latencies)-1)*percent/100]
}

// team is the ranks of a group.
type team struct {
	hosts   []int
	ranks   []*collective.Group
	message []byte
}

// run is a scenario under way.
type run struct {
	*Lab
	s      Scenario
	teams  []*team
	opened map[int]verbs.Context // by host
	result Result
}

// Run does what a scenario says. Progress, if it is not nil, is told what begins.
func (l *Lab) Run(ctx context.Context, s Scenario, progress func(what string)) (result *Result, err error) {
	if err := s.Check(len(l.hosts)); err != nil {
		return nil, err
	}
	if s.Slots == 0 {
		s.Slots = 16
	}
	if progress == nil {
		progress = func(string) {}
	}
	r := &run{Lab: l, s: s, opened: map[int]verbs.Context{}}
	defer func() { err = errors.Join(err, r.close()) }()
	for _, step := range []struct {
		what string
		do   func(context.Context) error
	}{
		{"groups join", r.join},
		{"broadcasts", func(ctx context.Context) error { return r.phase(ctx, "all links up", nil) }},
		{"links die", r.dying},
		{"broadcasts after that", r.after},
	} {
		progress(step.what)
		if err := step.do(ctx); err != nil {
			return nil, fmt.Errorf("%s: %w", step.what, err)
		}
	}
	return &r.result, r.count()
}

// join makes all groups at once.
func (r *run) join(ctx context.Context) error {
	rnd := rand.New(rand.NewPCG(r.s.Seed, 1))
	for range r.s.Groups {
		t := &team{hosts: rnd.Perm(len(r.hosts))[:r.s.Members], ranks: make([]*collective.Group, r.s.Members), message: make([]byte, r.s.Message)}
		for i := range t.message {
			t.message[i] = byte(rnd.Uint32())
		}
		r.teams = append(r.teams, t)
		r.result.Members = append(r.result.Members, t.hosts)
	}
	if err := r.open(); err != nil {
		return err
	}
	began := time.Now()
	all, ctx := errgroup.WithContext(ctx)
	for i, t := range r.teams {
		mgid := groupName(i)
		exchanges := collective.LocalExchange(len(t.hosts))
		for rank, host := range t.hosts {
			all.Go(func() (err error) {
				t.ranks[rank], err = r.found(ctx, mgid, t, rank, host, exchanges[rank])
				return err
			})
		}
	}
	if err := all.Wait(); err != nil {
		return err
	}
	r.result.Joined = time.Since(began)
	r.efi(0)
	return r.lose(r.s.Loss)
}

// groupName is how the i-th group is called.
func groupName(i int) ib.MGID {
	mgid := ib.MustParseMGID("ff12:a0de::1:0:0")
	mgid[14], mgid[15] = byte(i>>8), byte(i)
	return mgid
}

func (r *run) found(ctx context.Context, mgid ib.MGID, t *team, rank, host int, exchange collective.Exchange) (*collective.Group, error) {
	client, err := r.hosts[host].SA()
	if err != nil {
		return nil, err
	}
	return collective.New(ctx, r.opened[host], rank, len(t.hosts), exchange, collective.Config{
		Joiner: &member.Subnet{Client: client, Group: mgid, Ports: uint16(len(t.hosts))},
		Slots:  r.s.Slots, Roots: []int{0}, BcastOnly: true, Timeout: r.s.patience(),
	})
}

// patience is how long a READ or WRITE waits for its answer. All hosts share the
// processors of one: what is a network's round trip elsewhere waits here until a
// thousand others had their turn. Where packets are lost many are waited for in
// vain, so that a few hosts wait for less.
func (s *Scenario) patience() time.Duration {
	const most = 500 * time.Millisecond
	if s.Loss > 0 {
		return min(most, 100*time.Millisecond+time.Duration(s.Groups*s.Members)*250*time.Microsecond)
	}
	return most
}

// open opens the devices of all hosts that are members.
func (r *run) open() error {
	for _, t := range r.teams {
		for _, host := range t.hosts {
			if r.opened[host] != nil {
				continue
			}
			dev, err := r.hosts[host].Device()
			if err != nil {
				return err
			}
			if r.opened[host], err = dev.Open(); err != nil {
				return fmt.Errorf("%s: %w", r.hosts[host].Name, err)
			}
		}
	}
	return nil
}

// lose has all links lose that part of packets.
func (r *run) lose(part float64) error {
	return r.Live.Do(func(s *emu.Subnet) error {
		for id := range fabric.LinkID(r.Fabric.NumLinks()) {
			if err := s.LinkTrouble(id, emu.Trouble{Drop: part}); err != nil {
				return err
			}
		}
		return nil
	})
}

// efi notes how loaded the manager's trees are.
func (r *run) efi(at int) {
	status := r.Manager.Status()
	r.result.MaxEFI[at], r.result.TreeLinks[at] = status.MaxEFI, status.TreeLinks
}

// phase has all groups broadcast at once; the middle is called when half of the
// broadcasts are done.
func (r *run) phase(ctx context.Context, name string, middle func()) error {
	p := Phase{Name: name, Broadcasts: r.s.Groups * r.s.Rounds, Expected: r.s.Groups * r.s.Rounds * (r.s.Members - 1)}
	before, began := r.stats(), time.Now()
	var received atomic.Int64
	latencies := make([]time.Duration, p.Broadcasts)
	halfway := make(chan struct{})
	half := int64(p.Expected+1) / 2
	all, within := errgroup.WithContext(ctx)
	for i, t := range r.teams {
		all.Go(func() error {
			return t.broadcast(within, r.s.Rounds, latencies[i*r.s.Rounds:], func() {
				if received.Add(1) == half {
					close(halfway)
				}
			})
		})
	}
	if middle != nil {
		all.Go(func() error {
			select {
			case <-halfway:
				middle()
			case <-within.Done():
			}
			return nil
		})
	}
	err := all.Wait()
	p.Took, p.Received, p.Latencies = time.Since(began), int(received.Load()), latencies
	p.Bytes = uint64(p.Received) * uint64(r.s.Message)
	p.Stats = r.stats().Minus(before)
	slices.Sort(p.Latencies)
	r.result.Phases = append(r.result.Phases, p)
	return err
}

// broadcast has the first rank send to the others, so many times, and looks at what
// came.
func (t *team) broadcast(ctx context.Context, rounds int, latencies []time.Duration, received func()) error {
	bufs := make([][]byte, len(t.ranks))
	for rank := range bufs {
		if bufs[rank] = t.message; rank > 0 {
			bufs[rank] = make([]byte, len(t.message))
		}
	}
	for round := range rounds {
		began := time.Now()
		t.message[0] = byte(round)
		all, within := errgroup.WithContext(ctx)
		for rank, g := range t.ranks {
			all.Go(func() error {
				if err := g.Bcast(within, 0, bufs[rank]); err != nil || rank == 0 {
					return err
				}
				if !bytes.Equal(bufs[rank], t.message) {
					return fmt.Errorf("the bytes at rank %d are not those that were sent", rank)
				}
				received()
				return nil
			})
		}
		if err := all.Wait(); err != nil {
			return err
		}
		latencies[round] = time.Since(began)
	}
	return nil
}

// stats is the sum of all ranks'.
func (r *run) stats() (sum collective.Stats) {
	for _, t := range r.teams {
		for _, g := range t.ranks {
			if g != nil {
				sum = sum.Plus(g.Stats())
			}
		}
	}
	return sum
}

// count notes what was counted in all.
func (r *run) count() error {
	r.result.Stats = r.stats()
	return r.Live.Do(func(s *emu.Subnet) error {
		r.result.Data = s.Data()
		return nil
	})
}

func (r *run) close() error {
	err := r.lose(0) // the end is no part of the experiment
	var all errgroup.Group
	for _, t := range r.teams {
		for _, g := range t.ranks {
			if g != nil {
				all.Go(g.Close)
			}
		}
	}
	err = errors.Join(err, all.Wait())
	for _, c := range r.opened {
		err = errors.Join(err, c.Close())
	}
	return err
}

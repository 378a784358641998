package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"heddle/collective"
	"heddle/collective/member"
	"heddle/emu"
	"heddle/fabric"
	"heddle/fabric/topology"
	"heddle/ib"
	"heddle/internal/lab"
	"heddle/sm"
	"heddle/verbs"
)

// Broadcasts measures one message's way to many hosts of an emulated subnet: the
// bytes on each link, counted by its ports, and the time. All hosts share the
// processors of one, so that times are to be read as ratios.
type Broadcasts struct {
	Fabric string
	// Ranks are the sizes of groups, with the root, Sizes the lengths of messages
	// in bytes.
	Ranks, Sizes []int
	// Runs is how many broadcasts are measured of each, after one more.
	Runs int
	// Loss is the part of packets that each link loses in the last table, 0 for
	// none such.
	Loss  float64
	Seed  uint64
	Watch func(what string)

	lab   *lab.Lab
	hosts []*lab.Host // in the order in which they come to groups
	teams int         // so far
}

// Broadcast is what one message to all ranks of a group cost.
type Broadcast struct {
	Fabric string `json:"fabric"`
	Way    string `json:"way"`
	Ranks  int    `json:"ranks"`
	Size   int    `json:"size"`
	Runs   int    `json:"runs"`
	// Bytes are those on all links together, Busiest those of the link that
	// carried the most in one direction, with all headers and answers.
	Bytes   float64 `json:"bytes"`
	Busiest float64 `json:"busiest"`
	// Links are those of the tree, each in the one direction that it is used in;
	// Least and Most how often a datagram crossed each of them. Multicast only.
	Links int     `json:"links,omitempty"`
	Least float64 `json:"least,omitempty"`
	Most  float64 `json:"most,omitempty"`
	// MedianMs is from the root's call until the last rank has all.
	MedianMs float64 `json:"medianMs"`
	// Ratios are to multicast.
	BytesRatio   float64 `json:"bytesRatio"`
	BusiestRatio float64 `json:"busiestRatio"`
	TimeRatio    float64 `json:"timeRatio"`
}

// Repairs are what broadcasts by multicast cost where links lose packets.
type Repairs struct {
	Fabric string  `json:"fabric"`
	Loss   float64 `json:"loss"`
	Ranks  int     `json:"ranks"`
	Size   int     `json:"size"`
	Runs   int     `json:"runs"`
	// Due are the bytes of chunks that were to come to all readers, Missed those
	// that no datagram brought, Fetched those that READs did, of which Near came
	// from the neighbour.
	Due     int `json:"due"`
	Missed  int `json:"missed"`
	Fetched int `json:"fetched"`
	Near    int `json:"near"`
	// Dropped are the packets that links lost, of all kinds.
	Dropped  uint64  `json:"dropped"`
	MedianMs float64 `json:"medianMs"`
}

// Run measures all.
func (b *Broadcasts) Run(ctx context.Context) (list []Broadcast, repairs []Repairs, err error) {
	f, err := topology.Generate(b.Fabric)
	if err != nil {
		return nil, nil, err
	}
	b.lab, err = lab.Start(ctx, f, lab.Config{Loss: b.Loss, Manager: sm.Config{Interval: -1}}) // who asks now and then would be counted
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, b.lab.Close()) }()
	if err := b.place(); err != nil {
		return nil, nil, err
	}
	for _, ranks := range b.Ranks {
		b.Watch(fmt.Sprintf("broadcasts to %d", ranks))
		some, err := b.compare(ctx, ranks)
		if err != nil {
			return nil, nil, err
		}
		list = append(list, some...)
	}
	if b.Loss > 0 {
		b.Watch("broadcasts with losses")
		if repairs, err = b.lossy(ctx, slices.Max(b.Ranks)); err != nil {
			return nil, nil, err
		}
	}
	return list, repairs, nil
}

// place puts the hosts into an order by chance.
func (b *Broadcasts) place() error {
	if all, most := len(b.lab.Hosts()), slices.Max(b.Ranks); most > all {
		return fmt.Errorf("%d ranks, %s has %d hosts without the manager", most, b.Fabric, all)
	}
	for _, i := range rand.New(rand.NewPCG(b.Seed, 2)).Perm(len(b.lab.Hosts())) {
		b.hosts = append(b.hosts, b.lab.Hosts()[i])
	}
	return nil
}

// sender is a way to send the same bytes from the first of some hosts to the others.
type sender struct {
	name string
	send func(ctx context.Context, message []byte) error
	end  func() error
}

// compare measures all ways to a group of one size.
func (b *Broadcasts) compare(ctx context.Context, ranks int) (list []Broadcast, err error) {
	for _, open := range []func(context.Context, int) (*sender, error){
		b.by(collective.ByMulticast), b.by(collective.ByRead), b.by(collective.ByTree), b.unicasts,
	} {
		s, err := open(ctx, ranks)
		if err != nil {
			return nil, err
		}
		some, err := b.measure(ctx, s, ranks)
		if err = errors.Join(err, s.end()); err != nil {
			return nil, fmt.Errorf("%s to %d: %w", s.name, ranks, err)
		}
		list = append(list, some...)
	}
	for i := range list {
		first := &list[i%len(b.Sizes)]
		list[i].BytesRatio = list[i].Bytes / first.Bytes
		list[i].BusiestRatio = list[i].Busiest / first.Busiest
		list[i].TimeRatio = list[i].MedianMs / first.MedianMs
	}
	return list, nil
}

// measure sends messages of all sizes.
func (b *Broadcasts) measure(ctx context.Context, s *sender, ranks int) (list []Broadcast, err error) {
	for _, size := range b.Sizes {
		message := bytes.Repeat([]byte{byte(ranks)}, size)
		if err := s.send(ctx, message); err != nil {
			return nil, err
		}
		before, err := b.traffic()
		if err != nil {
			return nil, err
		}
		times, err := b.times(ctx, s, message)
		if err != nil {
			return nil, err
		}
		after, err := b.traffic()
		if err != nil {
			return nil, err
		}
		one := Broadcast{Fabric: b.Fabric, Way: s.name, Ranks: ranks, Size: size, Runs: b.Runs, MedianMs: medianMs(times)}
		one.count(before, after)
		list = append(list, one)
	}
	return list, nil
}

func (b *Broadcasts) times(ctx context.Context, s *sender, message []byte) (list []time.Duration, err error) {
	for run := range b.Runs {
		message[0] = byte(run)
		began := time.Now()
		if err := s.send(ctx, message); err != nil {
			return nil, err
		}
		list = append(list, time.Since(began))
	}
	return list, nil
}

func medianMs(list []time.Duration) float64 {
	slices.Sort(list)
	return float64(list[len(list)/2].Microseconds()) / 1000
}

// crossed is what a link carried in one direction.
type crossed struct{ bytes, datagrams uint64 }

// traffic is what all links carried so far, each in both directions.
func (b *Broadcasts) traffic() (list []crossed, err error) {
	err = b.lab.Live.Do(func(s *emu.Subnet) error {
		for id := range fabric.LinkID(b.lab.Fabric.NumLinks()) {
			l := b.lab.Fabric.Link(id)
			for _, end := range []fabric.End{l.A, l.B} {
				c := s.Counters(end)
				list = append(list, crossed{4 * c.PortXmitData, c.PortMulticastXmitPkts})
			}
		}
		return nil
	})
	return list, err
}

// count takes what links carried in all runs.
func (x *Broadcast) count(before, after []crossed) {
	runs := float64(x.Runs)
	chunks := float64((x.Size + chunkBytes - 1) / chunkBytes)
	for i := range after {
		n := float64(after[i].bytes-before[i].bytes) / runs
		x.Bytes += n
		x.Busiest = max(x.Busiest, n)
		if d := float64(after[i].datagrams-before[i].datagrams) / runs / chunks; d > 0 {
			if x.Links++; x.Links == 1 || d < x.Least {
				x.Least = d
			}
			x.Most = max(x.Most, d)
		}
	}
}

const (
	// chunkBytes is the payload of a datagram of 4 KiB.
	chunkBytes = 4096 - 32
	// broadcastSlots is the ring of a group, in chunks: more than two messages of
	// 256 KiB, so that the root does not wait for room.
	broadcastSlots = 160
	// broadcastPatience is for a READ or WRITE: all hosts share some processors.
	broadcastPatience = 500 * time.Millisecond
)

// by is a broadcast of package collective.
func (b *Broadcasts) by(way collective.Way) func(context.Context, int) (*sender, error) {
	return func(ctx context.Context, ranks int) (*sender, error) {
		t, err := b.team(ctx, ranks, collective.Config{Way: way, Timeout: broadcastPatience})
		if err != nil {
			return nil, fmt.Errorf("group of %d: %w", ranks, err)
		}
		return &sender{name: broadcastName(way), send: t.broadcast, end: t.close}, nil
	}
}

func broadcastName(w collective.Way) string {
	switch w {
	case collective.ByMulticast:
		return "multicast"
	case collective.ByRead:
		return "READ"
	case collective.ByTree:
		return "tree"
	}
	return w.String()
}

// team is the ranks of a group.
type team struct {
	groups []*collective.Group
	opened []verbs.Context
	bufs   [][]byte
}

// team makes a group of the first hosts.
func (b *Broadcasts) team(ctx context.Context, ranks int, cfg collective.Config) (*team, error) {
	t := &team{groups: make([]*collective.Group, ranks), bufs: make([][]byte, ranks)}
	cfg.Roots, cfg.BcastOnly, cfg.Slots = []int{0}, true, broadcastSlots
	mgid := ib.MustParseMGID("ff12:a0de::2:0:0")
	b.teams++
	mgid[15] = byte(b.teams)
	exchanges := collective.LocalExchange(ranks)
	all, within := errgroup.WithContext(ctx)
	var err error
	if t.opened, err = b.open(ranks); err != nil {
		return nil, errors.Join(err, t.close())
	}
	for r := range ranks {
		client, err := b.hosts[r].SA()
		if err != nil {
			return nil, errors.Join(err, t.close())
		}
		all.Go(func() (err error) {
			cfg := cfg
			cfg.Joiner = &member.Subnet{Client: client, Group: mgid, Ports: uint16(ranks)}
			t.groups[r], err = collective.New(within, t.opened[r], r, ranks, exchanges[r], cfg)
			return err
		})
	}
	if err := all.Wait(); err != nil {
		return nil, errors.Join(err, t.close())
	}
	return t, nil
}

// open opens the devices of the first hosts.
func (b *Broadcasts) open(n int) (list []verbs.Context, err error) {
	for _, h := range b.hosts[:n] {
		dev, err := h.Device()
		if err != nil {
			return list, err
		}
		opened, err := dev.Open()
		if err != nil {
			return list, err
		}
		list = append(list, opened)
	}
	return list, nil
}

// broadcast sends a message to all, and looks at what came.
func (t *team) broadcast(ctx context.Context, message []byte) error {
	all, within := errgroup.WithContext(ctx)
	for r, g := range t.groups {
		if r > 0 && len(t.bufs[r]) != len(message) {
			t.bufs[r] = make([]byte, len(message))
		}
		all.Go(func() error {
			if r == 0 {
				return g.Bcast(within, 0, message)
			}
			if err := g.Bcast(within, 0, t.bufs[r]); err != nil {
				return err
			}
			if !bytes.Equal(t.bufs[r], message) {
				return fmt.Errorf("the bytes at rank %d are not those that were sent", r)
			}
			return nil
		})
	}
	return all.Wait()
}

func (t *team) close() error {
	var all errgroup.Group
	for _, g := range t.groups {
		if g != nil {
			all.Go(g.Close)
		}
	}
	err := all.Wait()
	for _, c := range t.opened {
		err = errors.Join(err, c.Close())
	}
	return err
}

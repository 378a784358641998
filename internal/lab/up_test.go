package lab_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"heddle/collective"
	"heddle/collective/member"
	"heddle/emu"
	"heddle/fabric"
	"heddle/fabric/topology"
	"heddle/internal/lab"
)

// bench is a lab in real time, whose links may lose a part of packets later.
func bench(t *testing.T, spec string, loss float64) (*lab.Lab, context.Context) {
	t.Helper()
	f, err := topology.Generate(spec)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
	t.Cleanup(cancel)
	l, err := lab.Start(ctx, f, lab.Config{Loss: loss})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l, ctx
}

// TestRun: every broadcast comes to every member, with losses on all links, also
// while a link dies and after that. The manager's datagrams are lost as others are,
// and it gives nobody up.
func TestRun(t *testing.T) {
	const loss = 0.05
	l, ctx := bench(t, "fat-tree:k=4", loss)
	s := lab.Scenario{Groups: 6, Members: 6, Message: 8_000, Rounds: 1, Cut: 1, Loss: loss, Seed: 3}
	result, err := l.Run(ctx, s, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(result.Phases) != 3 || len(result.Cuts) != 1 {
		t.Fatalf("%+v", result)
	}
	for _, p := range result.Phases {
		if p.Expected != 6*5 || p.Received != p.Expected {
			t.Errorf("%s: %d of %d received", p.Name, p.Received, p.Expected)
		}
	}
	if n := l.Manager.Status().Nodes; n != l.Fabric.NumNodes() {
		t.Errorf("the manager sees %d nodes of %d", n, l.Fabric.NumNodes())
	}
	if result.Data.AllLost() == 0 || result.Stats.FromNeighbour+result.Stats.FromRoot == 0 {
		t.Errorf("nothing was lost, or nothing repaired: %+v, %+v", result.Data, result.Stats)
	}
}

// TestScenarioRefused: what makes no sense is refused by name.
func TestScenarioRefused(t *testing.T) {
	good := lab.Scenario{Groups: 1, Members: 2, Message: 1, Rounds: 1}
	if err := good.Check(2); err != nil {
		t.Fatal(err)
	}
	for name, spoil := range map[string]func(s *lab.Scenario){
		"groups":  func(s *lab.Scenario) { s.Groups = 0 },
		"members": func(s *lab.Scenario) { s.Members = 3 },
		"message": func(s *lab.Scenario) { s.Message = 0 },
		"rounds":  func(s *lab.Scenario) { s.Rounds = -1 },
		"loss":    func(s *lab.Scenario) { s.Loss = 1 },
		"cut":     func(s *lab.Scenario) { s.Cut = -1 },
	} {
		s := good
		if spoil(&s); s.Check(2) == nil {
			t.Errorf("%s: not refused: %+v", name, s)
		}
	}
}

// team makes the group of the first hosts.
func team(ctx context.Context, t *testing.T, l *lab.Lab, size int, cfg collective.Config) []*collective.Group {
	t.Helper()
	groups, exchanges := make([]*collective.Group, size), collective.LocalExchange(size)
	var all errgroup.Group
	for r := range size {
		client, err := l.Hosts()[r].SA()
		if err != nil {
			t.Fatal(err)
		}
		dev, err := l.Hosts()[r].Device()
		if err != nil {
			t.Fatal(err)
		}
		opened, err := dev.Open()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := opened.Close(); err != nil {
				t.Error(err)
			}
		})
		all.Go(func() (err error) {
			cfg := cfg
			cfg.Joiner = &member.Subnet{Client: client, Group: group, Ports: uint16(size)}
			groups[r], err = collective.New(ctx, opened, r, size, exchanges[r], cfg)
			return err
		})
	}
	if err := all.Wait(); err != nil {
		t.Fatal(err)
	}
	return groups
}

// TestEachLinkOnce: of a broadcast of 64 KiB to 64 members each link of the tree
// carries the datagrams once.
func TestEachLinkOnce(t *testing.T) {
	const size, length = 65, 64 << 10
	l, ctx := bench(t, "fat-tree:k=8", 0)
	groups := team(ctx, t, l, size, collective.Config{Roots: []int{0}, BcastOnly: true, Slots: 64, Timeout: 500 * time.Millisecond})
	before := packets(t, l)
	message := bytes.Repeat([]byte("once"), length/4)
	var all errgroup.Group
	for r, g := range groups {
		all.Go(func() error {
			buf := message
			if r > 0 {
				buf = make([]byte, length)
			}
			if err := g.Bcast(ctx, 0, buf); err != nil {
				return err
			}
			if !bytes.Equal(buf, message) {
				return fmt.Errorf("the bytes at rank %d differ", r)
			}
			return nil
		})
	}
	if err := all.Wait(); err != nil {
		t.Fatal(err)
	}
	sent := groups[0].Stats().Datagrams
	links, crossings := 0, uint64(0)
	for id, n := range packets(t, l) {
		carried := n - before[id]
		if carried > 0 {
			links, crossings = links+1, crossings+carried
		}
		if chunks := uint64(length+4063) / 4064; carried != 0 && carried != chunks {
			t.Errorf("link %d carried %d datagrams of %d", id, carried, chunks)
		}
	}
	if links < size {
		t.Errorf("%d links for %d members", links, size)
	}
	t.Logf("%d datagrams sent once crossed %d links", sent, links)
	for _, g := range groups {
		all.Go(g.Close)
	}
	if err := all.Wait(); err != nil {
		t.Error(err)
	}
}

// packets counts the multicast packets of each link, both ways.
func packets(t *testing.T, l *lab.Lab) (list []uint64) {
	t.Helper()
	err := l.Live.Do(func(s *emu.Subnet) error {
		for id := range fabric.LinkID(l.Fabric.NumLinks()) {
			link := l.Fabric.Link(id)
			list = append(list, s.Counters(link.A).PortMulticastXmitPkts+s.Counters(link.B).PortMulticastXmitPkts)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// TestLossOnEveryLink: where each link loses a twentieth of all packets, all bytes
// come, and what was not lost is not fetched.
func TestLossOnEveryLink(t *testing.T) {
	const size, chunks = 9, 60
	l, ctx := bench(t, "fat-tree:k=4", 0)
	groups := team(ctx, t, l, size, collective.Config{Roots: []int{0}, BcastOnly: true, Timeout: 20 * time.Millisecond, Gap: 5 * time.Millisecond})
	trouble(t, l, emu.Trouble{Drop: 0.05})
	message := bytes.Repeat([]byte{5}, chunks*4064)
	var all errgroup.Group
	for r, g := range groups {
		all.Go(func() error {
			buf := bytes.Clone(message)
			if r > 0 {
				clear(buf)
			}
			if err := g.Bcast(ctx, 0, buf); err != nil {
				return err
			}
			if !bytes.Equal(buf, message) {
				return fmt.Errorf("the bytes at rank %d differ", r)
			}
			return nil
		})
	}
	if err := all.Wait(); err != nil {
		t.Fatal(err)
	}
	trouble(t, l, emu.Trouble{})
	var sum collective.Stats
	for _, g := range groups[1:] {
		s := g.Stats()
		if s.Received+s.FromNeighbour+s.FromRoot != chunks {
			t.Errorf("rank %d: %+v", g.Rank(), s)
		}
		sum = sum.Plus(s)
	}
	if sum.FromNeighbour+sum.FromRoot == 0 || sum.FromNeighbour+sum.FromRoot > sum.Received {
		t.Errorf("%+v", sum)
	}
	t.Logf("%d chunks came, %d of a neighbour, %d of the root", sum.Received, sum.FromNeighbour, sum.FromRoot)
	for _, g := range groups {
		all.Go(g.Close)
	}
	if err := all.Wait(); err != nil {
		t.Error(err)
	}
}

// trouble has all links in trouble.
func trouble(t *testing.T, l *lab.Lab, what emu.Trouble) {
	t.Helper()
	err := l.Live.Do(func(s *emu.Subnet) error {
		for id := range fabric.LinkID(l.Fabric.NumLinks()) {
			if err := s.LinkTrouble(id, what); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestKilledMember: a host that dies in the middle does not stall the others beyond
// the time limit.
func TestKilledMember(t *testing.T) {
	const size, length, evict = 6, 400_000, 300 * time.Millisecond
	l, ctx := bench(t, "fat-tree:k=4", 0)
	groups := team(ctx, t, l, size, collective.Config{
		Roots: []int{0}, BcastOnly: true, Slots: 16, Evict: evict, Linger: 100 * time.Millisecond, Timeout: 20 * time.Millisecond,
	})
	node := l.Hosts()[3].Node
	err := l.Live.Do(func(s *emu.Subnet) error {
		s.KillNode(node)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	message, errs, began := bytes.Repeat([]byte{7}, length), make([]error, size), time.Now()
	var all errgroup.Group
	for r, g := range groups {
		if r == 3 {
			continue
		}
		all.Go(func() error {
			buf := bytes.Clone(message)
			if r > 0 {
				clear(buf)
			}
			if errs[r] = g.Bcast(ctx, 0, buf); errs[r] == nil && !bytes.Equal(buf, message) {
				errs[r] = fmt.Errorf("the bytes at rank %d differ", r)
			}
			return nil
		})
	}
	if err := errors.Join(all.Wait(), errors.Join(errs...)); err != nil {
		t.Error(err)
	}
	if took := time.Since(began); took < evict || took > 20*time.Second {
		t.Errorf("it took %v", took)
	}
	if s := groups[0].Stats(); s.Evicted != 1 {
		t.Errorf("%d evicted", s.Evicted)
	}
	for _, g := range groups {
		all.Go(func() error {
			_ = g.Close() // the dead one cannot leave its group
			return nil
		})
	}
	_ = all.Wait()
}

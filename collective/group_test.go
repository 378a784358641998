package collective_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"heddle/collective"
	"heddle/ib"
	"heddle/verbs"
	"heddle/verbs/sim"
)

var group = collective.Multicast{Group: ib.MustParseMGID("ff12:401b:ffff::1:2"), QKey: 0x1234}

// world is ranks on a simulated network, in a bubble of simulated time.
type world struct {
	t       testing.TB
	net     *sim.Network
	devices []*sim.Device
	opened  []verbs.Context
	groups  []*collective.Group
}

// newWorld makes a group of n ranks.
func newWorld(t testing.TB, n int, net sim.Config, cfg collective.Config) *world {
	t.Helper()
	net.Clock = sim.Real
	w := &world{t: t, groups: make([]*collective.Group, n)}
	var err error
	if w.net, err = sim.New(net); err != nil {
		t.Fatal(err)
	}
	exchanges := collective.LocalExchange(n)
	for r := range n {
		dev, err := w.net.Add(fmt.Sprint("rank", r))
		if err != nil {
			t.Fatal(err)
		}
		opened, err := dev.Open()
		if err != nil {
			t.Fatal(err)
		}
		w.devices, w.opened = append(w.devices, dev), append(w.opened, opened)
	}
	w.each(func(r int) (err error) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		w.groups[r], err = collective.New(ctx, w.opened[r], r, n, exchanges[r], cfg)
		return err
	})
	return w
}

// each does something at each rank at once.
func (w *world) each(do func(r int) error) {
	w.t.Helper()
	if err := errors.Join(w.errors(do)...); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) errors(do func(r int) error) []error {
	errs, done := make([]error, len(w.groups)), make(chan bool)
	for r := range w.groups {
		go func() {
			errs[r] = do(r)
			done <- true
		}()
	}
	for range w.groups {
		<-done
	}
	return errs
}

func (w *world) close() {
	w.each(func(r int) error {
		if w.groups[r] == nil {
			return nil
		}
		return w.groups[r].Close()
	})
	for _, c := range w.opened {
		if err := c.Close(); err != nil {
			w.t.Error(err)
		}
	}
	if err := w.net.Close(); err != nil {
		w.t.Error(err)
	}
}

// limited is a context in which all has to be done.
func limited() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), time.Minute)
}

func noise(seed uint64, n int) []byte {
	b := make([]byte, n)
	rnd := rand.New(rand.NewPCG(seed, 7))
	for i := range b {
		b[i] = byte(rnd.Uint32())
	}
	return b
}

// bcast broadcasts a message of a root to all, and looks at what came.
func (w *world) bcast(root int, message []byte) {
	w.t.Helper()
	ctx, cancel := limited()
	defer cancel()
	w.each(func(r int) error {
		buf := make([]byte, len(message))
		if r == root {
			copy(buf, message)
		}
		if err := w.groups[r].Bcast(ctx, root, buf); err != nil {
			return err
		}
		if !bytes.Equal(buf, message) {
			return fmt.Errorf("%d bytes of rank %d differ", len(message), root)
		}
		return nil
	})
}

// TestBcast: the bytes of a broadcast are equal at all ranks, for any network, any
// loss, any size and any root.
func TestBcast(t *testing.T) {
	profiles := sim.Profiles()
	rapid.Check(t, func(r *rapid.T) {
		n := rapid.IntRange(1, 9).Draw(r, "ranks")
		profile := profiles[rapid.IntRange(0, len(profiles)-1).Draw(r, "profile")]
		net := sim.Config{Profile: profile, Seed: rapid.Uint64().Draw(r, "seed")}
		cfg := collective.Config{Slots: rapid.SampledFrom([]int{2, 3, 8, 64}).Draw(r, "slots"), Chunk: rapid.SampledFrom([]int{0, 40, 256}).Draw(r, "chunk")}
		if rapid.IntRange(0, 3).Draw(r, "multicast") > 0 {
			cfg.Joiner = group
		}
		loss := rapid.SampledFrom([]float64{0, 0.02, 0.08}).Draw(r, "loss")
		sizes := rapid.SliceOfN(rapid.IntRange(0, 5000), 1, 4).Draw(r, "sizes")
		roots := rapid.SliceOfN(rapid.IntRange(0, n-1), len(sizes), len(sizes)).Draw(r, "roots")
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, n, net, cfg)
			defer w.close()
			w.impair(sim.Faults{Loss: loss, Duplicate: loss, Jitter: 3 * time.Microsecond})
			for i, size := range sizes {
				w.bcast(roots[i], noise(net.Seed+uint64(i), size))
			}
			w.impair(sim.Faults{})
		})
	})
}

func (w *world) impair(faults sim.Faults) {
	w.t.Helper()
	if err := w.net.Impair(faults); err != nil {
		w.t.Fatal(err)
	}
}

// TestOperations: all operations, by each way.
func TestOperations(t *testing.T) {
	for _, profile := range []sim.Profile{sim.InOrder(), sim.AdaptiveRouting(), sim.EFA2023()} {
		for _, n := range []int{1, 3, 8} {
			t.Run(fmt.Sprintf("%s/%d", profile.Name, n), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { operations(t, profile, n) })
			})
		}
	}
}

func operations(t *testing.T, profile sim.Profile, n int) {
	w := newWorld(t, n, sim.Config{Profile: profile, Seed: 5}, collective.Config{Joiner: group, Slots: 16})
	defer w.close()
	ctx, cancel := limited()
	defer cancel()
	entered := make([]bool, n)
	w.each(func(r int) error {
		g := w.groups[r]
		time.Sleep(time.Duration(r) * time.Millisecond)
		entered[r] = true
		if err := g.Barrier(ctx); err != nil {
			return err
		}
		for i, e := range entered {
			if !e {
				return fmt.Errorf("left the barrier before rank %d came", i)
			}
		}
		for _, length := range []int{1, 100, 30_000} {
			if err := gather(ctx, g, length); err != nil {
				return err
			}
		}
		return reductions(ctx, g)
	})
}

func gather(ctx context.Context, g *collective.Group, length int) error {
	all, want := make([]byte, length*g.Size()), []byte(nil)
	for r := range g.Size() {
		want = append(want, noise(uint64(r), length)...)
	}
	if err := g.AllGather(ctx, noise(uint64(g.Rank()), length), all); err != nil {
		return err
	}
	if !bytes.Equal(all, want) {
		return errors.New("what was gathered differs")
	}
	return nil
}

func reductions(ctx context.Context, g *collective.Group) error {
	values := make([]int32, 5001)
	for i := range values {
		values[i] = int32(i * (g.Rank() + 1))
	}
	if err := collective.AllReduce(ctx, g, values, collective.Sum[int32]); err != nil {
		return err
	}
	n := g.Size()
	for i, v := range values {
		if want := int32(i * n * (n + 1) / 2); v != want {
			return fmt.Errorf("sum %d is %d, want %d", i, v, want)
		}
	}
	one := []float64{float64(g.Rank())}
	if err := collective.Reduce(ctx, g, n-1, one, collective.Max[float64]); err != nil {
		return err
	}
	if g.Rank() == n-1 && one[0] != float64(n-1) {
		return fmt.Errorf("maximum %v, want %d", one[0], n-1)
	}
	return nil
}

// TestRepairTouchesWhatWasLost: on a network in order as many chunks are READ as
// datagrams were lost, and no more.
func TestRepairTouchesWhatWasLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n, chunks = 8, 500
		w := newWorld(t, n, sim.Config{Seed: 3}, collective.Config{Joiner: group, Chunk: 1024})
		defer w.close()
		w.impair(sim.Faults{Loss: 0.05})
		w.bcast(0, noise(1, chunks*(1024-32)))
		var all collective.Stats
		for _, g := range w.groups[1:] {
			s := g.Stats()
			if s.Received+s.FromNeighbour+s.FromRoot != chunks {
				t.Errorf("rank %d: %+v", g.Rank(), s)
			}
			all.FromNeighbour += s.FromNeighbour
			all.FromRoot += s.FromRoot
			all.Reads += s.Reads
		}
		if sent := w.groups[0].Stats().Datagrams; sent != chunks+1 && sent != chunks+2 {
			t.Errorf("%d datagrams for %d chunks", sent, chunks)
		}
		lost := all.FromNeighbour + all.FromRoot
		if lost < (n-1)*chunks/40 || lost > (n-1)*chunks/10 || all.FromNeighbour < all.FromRoot {
			t.Errorf("%d of the neighbour, %d of the root", all.FromNeighbour, all.FromRoot)
		}
		t.Logf("%d lost of %d: %d of the neighbour, %d of the root, %d READs", lost, (n-1)*chunks, all.FromNeighbour, all.FromRoot, all.Reads)
	})
}

// TestBrokenConnections: connections that end since the network loses nearly half of
// what is sent are made anew, and all bytes come.
func TestBrokenConnections(t *testing.T) {
	for seed := range uint64(4) {
		synctest.Test(t, func(t *testing.T) {
			cfg := collective.Config{Joiner: group, Slots: 16, Chunk: 256, BcastOnly: true, Timeout: 5 * time.Millisecond}
			w := newWorld(t, 5, sim.Config{Seed: seed}, cfg)
			defer w.close()
			w.impair(sim.Faults{Loss: 0.4})
			for root := range 3 {
				w.bcast(root, noise(seed, 20_000))
			}
			w.impair(sim.Faults{})
			var reconnects uint64
			for _, g := range w.groups {
				reconnects += g.Stats().Reconnects
			}
			if reconnects == 0 {
				t.Error("no connection ended")
			}
			t.Log(reconnects, "connections made anew")
		})
	}
}

// TestLateReader: who calls after all was sent gets it from the root's ring.
func TestLateReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 3, sim.Config{}, collective.Config{Joiner: group, Slots: 4, Chunk: 256})
		defer w.close()
		message := noise(1, 3*224)
		ctx, cancel := limited()
		defer cancel()
		w.each(func(r int) error {
			buf := bytes.Clone(message)
			if r > 0 {
				clear(buf)
			}
			if r == 2 {
				time.Sleep(time.Second)
			}
			if err := w.groups[r].Bcast(ctx, 0, buf); err != nil {
				return err
			}
			if !bytes.Equal(buf, message) {
				return errors.New("bytes differ")
			}
			return nil
		})
	})
}

// TestDeadReader: a rank that dies stalls the others no longer than Evict.
func TestDeadReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const evict = 50 * time.Millisecond
		w := newWorld(t, 5, sim.Config{}, collective.Config{Joiner: group, Slots: 8, Chunk: 256, Evict: evict, Linger: time.Millisecond})
		defer w.close()
		message := noise(1, 40*224)
		ctx, cancel := limited()
		defer cancel()
		began := time.Now()
		errs := w.errors(func(r int) error {
			if r == 3 {
				w.devices[3].Kill()
				return nil
			}
			buf := bytes.Clone(message)
			if r > 0 {
				clear(buf)
			}
			if err := w.groups[r].Bcast(ctx, 0, buf); err != nil {
				return err
			}
			if !bytes.Equal(buf, message) {
				return errors.New("bytes differ")
			}
			return nil
		})
		for r, err := range errs {
			if err != nil {
				t.Errorf("rank %d: %v", r, err)
			}
		}
		if took := time.Since(began); took > evict+50*time.Millisecond {
			t.Errorf("it took %v", took)
		}
		if s := w.groups[0].Stats(); s.Evicted != 1 {
			t.Errorf("%d evicted", s.Evicted)
		}
	})
}

// TestSlowReader: a rank that is evicted learns it, when it misses something.
func TestSlowReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 3, sim.Config{}, collective.Config{Joiner: group, Slots: 8, Chunk: 256, Evict: 20 * time.Millisecond, Linger: time.Millisecond})
		defer w.close()
		message := noise(1, 40*224)
		ctx, cancel := limited()
		defer cancel()
		errs := w.errors(func(r int) error {
			if r == 2 {
				time.Sleep(time.Second)
			}
			return w.groups[r].Bcast(ctx, 0, bytes.Clone(message))
		})
		if errs[0] != nil || errs[1] != nil || !errors.Is(errs[2], collective.ErrLagged) {
			t.Errorf("%v", errs)
		}
	})
}

// TestDeadRoot: the readers of a root that dies learn it.
func TestDeadRoot(t *testing.T) {
	for _, joiner := range []collective.Joiner{group, nil} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, 4, sim.Config{}, collective.Config{Joiner: joiner, Linger: time.Millisecond})
			defer w.close()
			ctx, cancel := limited()
			defer cancel()
			for r, err := range w.errors(func(r int) error {
				if r == 0 {
					w.devices[0].Kill()
					return nil
				}
				return w.groups[r].Bcast(ctx, 0, make([]byte, 100))
			}) {
				if r > 0 && !errors.Is(err, collective.ErrPeerGone) {
					t.Errorf("rank %d: %v", r, err)
				}
			}
		})
	}
}

// TestWay: broadcasts go as it is wanted.
func TestWay(t *testing.T) {
	for _, way := range []collective.Way{collective.ByMulticast, collective.ByRead, collective.ByTree} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, 5, sim.Config{}, collective.Config{Joiner: group, Way: way, BcastOnly: true, Slots: 16})
			for _, g := range w.groups {
				if g.Way() != way {
					t.Errorf("rank %d: by %v, want %v", g.Rank(), g.Way(), way)
				}
			}
			w.bcast(2, noise(1, 100_000))
			if n := w.groups[2].Stats().Datagrams; (n > 1) != (way == collective.ByMulticast) {
				t.Errorf("%v: %d datagrams", way, n)
			}
			w.close()
		})
	}
}

// TestBcastOnly: such a group has no other operations.
func TestBcastOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 3, sim.Config{}, collective.Config{Joiner: group, BcastOnly: true})
		defer w.close()
		w.bcast(1, noise(4, 3000))
		for _, err := range w.errors(func(r int) error { return w.groups[r].Barrier(t.Context()) }) {
			if !errors.Is(err, verbs.ErrNotSupported) {
				t.Errorf("barrier: %v", err)
			}
		}
	})
}

// TestMismatch: who expects another length gets an error, and goes on.
func TestMismatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 3, sim.Config{}, collective.Config{Joiner: group, Chunk: 256})
		defer w.close()
		ctx, cancel := limited()
		defer cancel()
		errs := w.errors(func(r int) error { return w.groups[r].Bcast(ctx, 0, make([]byte, 1000+r/2)) })
		if errs[0] != nil || errs[1] != nil || !errors.Is(errs[2], collective.ErrMismatch) {
			t.Errorf("%v", errs)
		}
		w.bcast(0, noise(4, 3000))
	})
}

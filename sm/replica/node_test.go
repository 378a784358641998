package replica

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"heddle/sm/store"
)

func TestFollowersHaveAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 3, Config{Wait: 2})
		defer c.close()
		leader := c.members[1]
		leader.lead()
		for i := range 200 {
			leader.join(i%10, i%7, i%3 == 2)
			leader.commit()
		}
		c.settle()
		c.checkAgreed(leader)
		if len(c.sure) != 201 {
			t.Errorf("%d of 201 batches are acknowledged with followers", len(c.sure))
		}
		s := leader.node.Status()
		if s.Role != Leader || s.Waiting != 0 || s.Degraded || s.Counts.Drops != 0 || len(s.Peers) != 4 {
			t.Errorf("status of the leader: %+v", s)
		}
		for _, p := range s.Peers {
			if p.Fed == p.Dialled || p.Lag != 0 {
				t.Errorf("status of a peer: %+v", p)
			}
		}
	})
}

func TestFailover(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 2, Config{Wait: 1})
		defer c.close()
		a, b := c.members[0], c.members[1]
		a.lead()
		c.settle()
		for i := range 50 {
			a.join(i%10, i%7, false)
			a.commit()
		}
		synctest.Wait()
		c.network.set("sm1", "sm2", true)
		for range 5 { // alone, and in vain
			a.join(1, 100, false)
			a.commit()
		}
		b.lead()
		b.checkSure()
		c.network.set("sm1", "sm2", false)
		b.join(2, 50, false)
		b.commit()
		c.settle()
		c.checkAgreed(b)
		select {
		case epoch := <-a.deposed:
			if epoch != b.node.Status().Epoch {
				t.Errorf("deposed by %d, want %d", epoch, b.node.Status().Epoch)
			}
		default:
			t.Error("the old leader was not told")
		}
		if err := <-a.node.Deposed(); !errors.Is(err, ErrNotLeader) {
			t.Errorf("deposed for %v", err)
		}
		if err := a.node.Commit(t.Context(), &store.Batch{}, nil); !errors.Is(err, ErrNotLeader) {
			t.Errorf("the old leader commits: %v", err)
		}
	})
}

func TestWaitHasALimit(t *testing.T) {
	for _, strict := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			c := newCluster(t, 2, Config{Wait: 1, WaitLimit: 3 * time.Second, Strict: strict})
			defer c.close()
			c.network.set("sm1", "sm2", true)
			a := c.members[0]
			if _, err := a.node.Lead(t.Context()); err != nil {
				t.Fatal(err)
			}
			for round := range 2 {
				begun := time.Now()
				got := make(chan store.Result, 1)
				if err := a.node.Commit(t.Context(), &store.Batch{}, func(r store.Result) { got <- r }); err != nil {
					t.Fatal(err)
				}
				r := <-got
				want := 3 * time.Second
				if round == 1 && !strict {
					want = 0 // it is known by now
				}
				if took := time.Since(begun); took != want || errors.Is(r.Err, ErrNotReplicated) != strict || r.Followers != 0 {
					t.Errorf("strict %v, round %d: after %v %+v", strict, round, took, r)
				}
			}
			c.network.set("sm1", "sm2", false)
			c.settle()
			got := make(chan store.Result, 1)
			if err := a.node.Commit(t.Context(), &store.Batch{}, func(r store.Result) { got <- r }); err != nil {
				t.Fatal(err)
			}
			if r := <-got; r.Err != nil || r.Followers != 1 {
				t.Errorf("with a follower again: %+v", r)
			}
		})
	}
}

// TestStateInParts sends a state of several frames to one who has nothing, and
// goes on with the log.
func TestStateInParts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 2, Config{Log: 1000})
		defer c.close()
		c.network.set("sm1", "sm2", true)
		a := c.members[0]
		a.lead()
		for i := range 20 {
			a.batch.Put(store.Record{Bucket: "big", Key: []byte{byte(i)}, Value: make([]byte, 100_000)})
			a.commit()
		}
		c.network.set("sm1", "sm2", false)
		c.settle()
		a.join(1, 1, false)
		a.commit()
		c.settle()
		c.checkAgreed(a)
		if n := a.node.Status().Counts.States; n != 1 {
			t.Errorf("%d states were sent", n)
		}
	})
}

func TestStoppedNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 2, Config{Wait: 1, WaitLimit: time.Hour})
		c.network.set("sm1", "sm2", true)
		a := c.members[0]
		a.lead()
		got := make(chan store.Result, 1)
		if err := a.node.Commit(t.Context(), &store.Batch{}, func(r store.Result) { got <- r }); err != nil {
			t.Fatal(err)
		}
		c.close()
		if r := <-got; !errors.Is(r.Err, ErrNotLeader) {
			t.Errorf("what waited: %+v", r)
		}
		if err := a.node.Commit(t.Context(), &store.Batch{}, nil); !errors.Is(err, ErrStopped) {
			t.Errorf("commit: %v", err)
		}
	})
}

// TestHistories does at random what managers and networks do. Who takes over
// has all that was acknowledged with followers; each has at all times what some
// leader had; and in the end all have the same.
func TestHistories(t *testing.T) {
	seeds := 30
	if testing.Short() {
		seeds = 5
	}
	first := seedFrom(t)
	for i := range uint64(seeds) {
		ok := t.Run("", func(t *testing.T) {
			t.Logf("seed %d", first+i)
			synctest.Test(t, func(t *testing.T) { history(t, rand.New(rand.NewPCG(first+i, 0))) })
		})
		if !ok {
			return
		}
	}
}

func history(t *testing.T, random *rand.Rand) {
	size := 2 + random.IntN(2)
	c := newCluster(t, size, Config{Wait: size - 1, WaitLimit: 2 * time.Second, Strict: random.IntN(2) == 0, Log: 100 + random.IntN(5000)})
	defer c.close()
	for range 60 + random.IntN(60) {
		m := c.members[random.IntN(size)]
		other := c.members[random.IntN(size)]
		switch random.IntN(12) {
		case 0:
			c.network.set(m.name, other.name, random.IntN(2) == 0)
		case 1:
			m.stop()
			m.start()
		case 2:
			m.lead()
			m.checkSure()
		case 3:
			m.node.Follow()
		case 4:
			time.Sleep(time.Duration(random.IntN(5000)) * time.Millisecond) // virtual
			m.checkPrefix()
		default:
			c.work(random)
		}
	}
	for _, m := range c.members {
		for _, other := range c.members {
			c.network.set(m.name, other.name, false)
		}
	}
	c.settle()
	leader := c.members[random.IntN(size)]
	leader.lead()
	leader.checkSure()
	c.settle()
	c.checkAgreed(leader)
}

// work lets all that believe to lead change something.
func (c *cluster) work(random *rand.Rand) {
	for _, m := range c.members {
		for n := random.IntN(5); n > 0 && m.table != nil; n-- {
			m.join(random.IntN(8), random.IntN(8), random.IntN(3) == 0)
			m.commit()
		}
	}
	if random.IntN(2) == 0 {
		time.Sleep(time.Duration(random.IntN(100)) * time.Millisecond) // virtual
	}
}

// seedFrom gives a new seed, or that of the environment, to repeat a failure.
func seedFrom(t *testing.T) uint64 {
	t.Helper()
	text, ok := os.LookupEnv("HEDDLE_SEED")
	if !ok {
		return uint64(time.Now().UnixNano())
	}
	seed, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return seed
}

// TestNoBatchInTheEpochOfAnother is what the store holds a leader to that has
// not heard yet.
func TestNoBatchInTheEpochOfAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 2, Config{})
		defer c.close()
		a := c.members[0]
		a.lead()
		if err := a.store.Promise(t.Context(), 1<<60, nil); err != nil {
			t.Fatal(err)
		}
		if err := a.node.Commit(t.Context(), &store.Batch{}, nil); !errors.Is(err, store.ErrStale) {
			t.Errorf("error %v, want %v", err, store.ErrStale)
		}
	})
}

// TestOverTCP is the way from one process to another.
func TestOverTCP(t *testing.T) {
	var nodes []*Node
	var stores []*store.Store
	var listeners []net.Listener
	for range 2 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		listeners = append(listeners, l)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	for i := range listeners {
		s := store.InMemory(store.Options{})
		n, err := New(s, Config{
			ID: uint16(i + 1), Secret: testSecret, Peers: []string{listeners[1-i].Addr().String()},
			Wait: 1, WaitLimit: time.Minute,
		})
		if err != nil {
			t.Fatal(err)
		}
		nodes, stores = append(nodes, n), append(stores, s)
		running.Go(func() { _ = n.Run(ctx, listeners[i]) })
	}
	if _, err := nodes[0].Lead(ctx); err != nil {
		t.Fatal(err)
	}
	got := make(chan store.Result, 1)
	b := &store.Batch{}
	b.Put(store.Record{Bucket: "r", Key: []byte("k"), Value: []byte("v")})
	if err := nodes[0].Commit(ctx, b, func(r store.Result) { got <- r }); err != nil {
		t.Fatal(err)
	}
	if r := <-got; r.Err != nil || r.Followers != 1 {
		t.Errorf("result %+v", r)
	}
	if r, ok, err := stores[1].Record("r", []byte("k")); !ok || err != nil || string(r.Value) != "v" {
		t.Errorf("the follower has %+v, %v, %v", r, ok, err)
	}
	cancel()
	running.Wait()
	for _, s := range stores {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

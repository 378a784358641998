//go:build linux && (amd64 || arm64)

package shm_test

import (
	"context"
	"encoding/gob"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"heddle/verbs"
	"heddle/verbs/shm"
)

var wakes = flag.Int("wakes", 1500, "how many messages TestWakeUps sends each way in each of its cases")

// TestWakeUps: two processes send to each other, and pause at random, so that
// each goes to sleep at any moment of what the other one does. They sleep until
// they are woken, and no kick helps: a wake-up that gets lost is a hang.
func TestWakeUps(t *testing.T) {
	for _, test := range []struct {
		name           string
		single, loaded bool
	}{{"two CPUs", false, false}, {"one processor of Go", true, false}, {"busy CPUs", false, true}} {
		t.Run(test.name, func(t *testing.T) {
			if test.loaded {
				for range runtime.NumCPU() {
					spawn(t, "burn")
				}
			}
			for _, how := range []string{"SEND", "WRITE", "SEND until the ring is full"} {
				t.Run(how, func(t *testing.T) { wakeUps(t, pongOrder{how, test.single, *wakes}) })
			}
		})
	}
}

// pongOrder is what a pong is to do.
type pongOrder struct {
	How    string
	Single bool // on one processor of Go
	Rounds int
}

func wakeUps(t *testing.T, order pongOrder) {
	if order.Single {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	}
	a := made(t, verbs.QPAttr{Type: verbs.RC, Timeout: 5 * time.Second, SendWR: 256, RecvWR: 256}, 4<<20, all)
	c := spawn(t, "pong")
	peer := c.meet(t, a)
	if err := c.in.Encode(order); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 120*time.Second)
	defer cancel()
	shm.Bare(a.ctx, a.qp)
	err := a.play(ctx, order, peer, true)
	if err := errors.Join(err, context.Cause(ctx)); err != nil { // the end of its time would have woken it
		t.Error(err)
	}
}

// pong is the role of the other side.
func pong(n *node, peer hello, in *gob.Decoder) error {
	var order pongOrder
	if err := in.Decode(&order); err != nil {
		return err
	}
	if order.Single {
		runtime.GOMAXPROCS(1)
	}
	shm.Bare(n.ctx, n.qp)
	if err := n.play(context.Background(), order, peer, false); err != nil {
		return err
	}
	var none hello
	_ = in.Decode(&none) // until its input ends
	return nil
}

// burst is how many messages of 8 KiB are sent in a row, more than a ring holds.
const burst = 64

func (n *node) play(ctx context.Context, order pongOrder, peer hello, first bool) error {
	random := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 0))
	switch order.How {
	case "WRITE":
		return n.playWrites(ctx, random, order.Rounds, peer, first)
	case "SEND":
		return n.playSends(ctx, random, order.Rounds, 1, 8, first)
	default:
		return n.playSends(ctx, random, order.Rounds/burst+1, burst, 8<<10, first)
	}
}

// playSends has both sides send in turn. All buffers are there before.
func (n *node) playSends(ctx context.Context, random *rand.Rand, rounds, burst, size int, first bool) error {
	receive := func(count int) error {
		for range count {
			if err := n.qp.PostRecv(&verbs.RecvWR{ID: 1, SGEs: []verbs.SGE{n.mr.SGE(1<<20, size)}}); err != nil {
				return err
			}
		}
		return nil
	}
	if err := receive(burst); err != nil {
		return err
	}
	for i := range 2 * rounds {
		mine := (i%2 == 0) == first
		for range burst {
			if !mine {
				wcs, err := n.await(ctx, 1)
				if err != nil {
					return err
				}
				if wcs[0].Status != verbs.StatusOK {
					return fmt.Errorf("completed with %v", wcs[0].Status)
				}
				if err := receive(1); err != nil {
					return err
				}
			}
			pauseFor(random)
			if mine {
				if err := n.qp.PostSend(&verbs.SendWR{ID: 2, Op: verbs.OpSend, SGEs: []verbs.SGE{n.mr.SGE(0, size)}}); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// playWrites has both sides write to a word of the other, in turn.
func (n *node) playWrites(ctx context.Context, random *rand.Rand, rounds int, peer hello, first bool) error {
	for i := range uint64(2 * rounds) {
		if (i%2 == 0) != first {
			if err := n.ctx.Await(ctx, func() bool { return n.load(64) > i }); err != nil {
				return err
			}
			continue
		}
		pauseFor(random)
		atomic.StoreUint64(n.word(0), i+1)
		if err := n.qp.PostSend(&verbs.SendWR{Op: verbs.OpWrite, SGEs: []verbs.SGE{n.mr.SGE(0, 8)}, RemoteAddr: peer.Addr + 64, RKey: peer.RKey}); err != nil {
			return err
		}
	}
	return nil
}

// pauseFor goes on after a moment, of the length after which waits begin to
// sleep, or at once.
func pauseFor(random *rand.Rand) {
	if random.IntN(4) != 0 {
		return
	}
	long := time.Duration(random.IntN(200)) * time.Microsecond
	for start := time.Now(); time.Since(start) < long; {
		continue
	}
}

// burn keeps a CPU busy until its input ends.
func burn() error {
	var over atomic.Bool
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		over.Store(true)
	}()
	for !over.Load() {
		continue
	}
	return nil
}

//go:build linux && (amd64 || arm64)

package shm_test

import (
	"context"
	"errors"
	"flag"
	"math/rand/v2"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"heddle/verbs"
)

var kills = flag.Int("kills", 20, "how many peers TestKill kills")

// TestKill: a peer is killed at a random moment of an exchange of SENDs and
// WRITEs. The survivor is told, all that it posted completes, it leaks nothing,
// and goes on with other peers.
func TestKill(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	a, b := joined(t, verbs.QPAttr{Type: verbs.RC}) // the other peer
	killOne(t, 0)                                   // what is made once is made
	files, maps, goroutines := holdings(t)
	for range *kills {
		killOne(t, time.Duration(random.IntN(3000))*time.Microsecond)
		postRecv(t, b.qp, 1, b.mr.SGE(0, 8))
		post(t, a.qp, &verbs.SendWR{Op: verbs.OpSend, SGEs: []verbs.SGE{a.mr.SGE(0, 8)}})
		b.want(t, 1, verbs.StatusOK)
	}
	f, m, g := holdings(t)
	if f > files || m > maps+8 || g > goroutines+2 {
		t.Errorf("files %d -> %d, mappings %d -> %d, goroutines %d -> %d", files, f, maps, m, goroutines, g)
	}
}

// holdings are what a process could leak.
func holdings(t *testing.T) (files, maps, goroutines int) {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Fatal(err)
	}
	return len(list), strings.Count(string(text), "memfd:"), runtime.NumGoroutine()
}

// killOne runs an echo with a child, which is killed after a while.
func killOne(t *testing.T, after time.Duration) {
	t.Helper()
	n, err := newNode(verbs.QPAttr{Type: verbs.RC, SendWR: 16, RecvWR: 16}, 1<<20, all)
	if err != nil {
		t.Fatal(err)
	}
	t.Run("", func(t *testing.T) {
		c := spawn(t, "echo")
		peer := c.meet(t, n)
		killed := time.AfterFunc(after, func() { _ = c.cmd.Process.Kill() })
		defer killed.Stop()
		converse(t, n, peer)
	})
	if err := n.close(); err != nil {
		t.Error(err)
	}
}

// converse goes on until the peer is gone.
func converse(t *testing.T, n *node, peer hello) {
	t.Helper()
	ctx := soon(t)
	var recvs, sends int
	for i := 0; ; i++ {
		size := 1 << (i % 16)
		if n.qp.PostRecv(&verbs.RecvWR{ID: 1, SGEs: []verbs.SGE{n.mr.SGE(1<<19, 1<<16)}}) == nil {
			recvs++
		}
		wrs := []verbs.SendWR{
			{ID: 2, Op: verbs.OpWrite, Flags: verbs.Signaled, SGEs: []verbs.SGE{n.mr.SGE(0, size)}, RemoteAddr: peer.Addr + 3<<20, RKey: peer.RKey},
			{ID: 3, Op: verbs.OpSend, Flags: verbs.Signaled, SGEs: []verbs.SGE{n.mr.SGE(0, size)}},
		}
		k, err := n.qp.PostSends(wrs)
		sends += k
		if err != nil {
			t.Fatal(err)
		}
		for recvs+sends > 0 {
			wcs, err := n.await(ctx, 1)
			if err != nil {
				t.Fatalf("%d receives, %d sends: %v", recvs, sends, err)
			}
			if wcs[0].ID == 1 {
				recvs--
			} else {
				sends--
			}
		}
		if s, err := n.qp.State(); s == verbs.Err && err == nil {
			break
		}
	}
	for {
		event, err := n.ctx.Event(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if event.Type == verbs.EventPeerGone && event.QP == n.qp {
			return
		}
	}
}

// TestStoppedPeer: a peer that is stopped is a fault after its time, and keeps
// nobody waiting longer than a context allows.
func TestStoppedPeer(t *testing.T) {
	a := made(t, verbs.QPAttr{Type: verbs.RC, Timeout: 10 * time.Millisecond, Retries: verbs.Times(1)}, 1<<20, all)
	c := spawn(t, "echo")
	c.meet(t, a)
	if err := c.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := a.await(ctx, 1); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a wait that is given up: %v", err)
	}
	post(t, a.qp, &verbs.SendWR{ID: 4, Op: verbs.OpSend, SGEs: []verbs.SGE{a.mr.SGE(0, 8)}})
	a.want(t, 1, verbs.StatusRetryExceeded)
	if s, _ := a.qp.State(); s != verbs.Err {
		t.Errorf("the QP is in %v", s)
	}
	if err := c.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
}

// TestConnectToNobody: who is not there is gone.
func TestConnectToNobody(t *testing.T) {
	a := made(t, verbs.QPAttr{Type: verbs.RC}, 4096, all)
	for range 8 { // whichever of both is the one to dial
		b, err := newNode(verbs.QPAttr{Type: verbs.RC}, 4096, all)
		if err != nil {
			t.Fatal(err)
		}
		peer := b.qp.Endpoint()
		if err := b.close(); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		if err := a.qp.Connect(ctx, peer); !errors.Is(err, verbs.ErrPeerGone) && !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v", err)
		}
		cancel()
	}
}

// TestNoAllocs: post and poll allocate nothing, by the interfaces.
func TestNoAllocs(t *testing.T) {
	a, b := joined(t, verbs.QPAttr{Type: verbs.RC})
	peer := b.hello()
	write := verbs.SendWR{Op: verbs.OpWrite, Flags: verbs.Signaled, SGEs: []verbs.SGE{a.mr.SGE(0, 64)}, RemoteAddr: peer.Addr, RKey: peer.RKey}
	post(t, a.qp, &write) // makes the region known
	a.want(t, 1, verbs.StatusOK)
	send := verbs.SendWR{Op: verbs.OpSend, Flags: verbs.Signaled, SGEs: []verbs.SGE{a.mr.SGE(0, 64)}}
	buffer := verbs.RecvWR{SGEs: []verbs.SGE{b.mr.SGE(0, 64)}}
	ready := func() bool { return true }
	ctx := t.Context()
	if n := testing.AllocsPerRun(200, func() {
		if a.qp.PostSend(&write) != nil || b.qp.PostRecv(&buffer) != nil || a.qp.PostSend(&send) != nil {
			t.Fatal("posts")
		}
		if n, err := b.cq.Poll(b.wcs); n != 1 || err != nil {
			t.Fatal(n, err)
		}
		if n, err := a.cq.Poll(a.wcs); n != 2 || err != nil {
			t.Fatal(n, err)
		}
		if err := a.ctx.Await(ctx, ready); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestAwaitWakes: a WRITE wakes who sleeps until it comes.
func TestAwaitWakes(t *testing.T) {
	a, b := joined(t, verbs.QPAttr{Type: verbs.RC})
	peer := b.hello()
	woken := make(chan error)
	for i := range uint64(50) {
		go func() {
			woken <- b.ctx.Await(soon(t), func() bool { return b.load(0) > i })
		}()
		for start := time.Now(); time.Since(start) < 200*time.Microsecond; { // it sleeps by then
			runtime.Gosched()
		}
		*a.word(0) = i + 1
		post(t, a.qp, &verbs.SendWR{Op: verbs.OpWrite, SGEs: []verbs.SGE{a.mr.SGE(0, 8)}, RemoteAddr: peer.Addr, RKey: peer.RKey})
		if err := <-woken; err != nil {
			t.Fatal(err)
		}
	}
}

//go:build linux && (amd64 || arm64)

package shm_test

import (
	"bytes"
	"context"
	"encoding/gob"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"heddle/verbs"
	"heddle/verbs/shm"
)

var kills = flag.Int("kills", 60, "how many peers TestKill kills")

// victims are the ways to lose a peer. Each is given a node that has no
// connection yet, and comes back when the peer is dead and the node was told.
var victims = []struct {
	name string
	run  func(k *killing)
}{
	{"a peer that dials", func(k *killing) { k.converse(true) }},
	{"a peer that is dialled", func(k *killing) { k.converse(false) }},
	{"a target of WRITE and READ", (*killing).target},
	{"a sender of short messages", func(k *killing) { k.receive(64) }},
	{"a sender of long messages", func(k *killing) { k.receive(2 << 20) }},
	{"a receiver that sleeps", (*killing).sleeper},
	{"a peer that is stopped, and goes on", (*killing).stopped},
	{"a peer that connects", (*killing).connecting},
	{"a part of the handshake, dialling", func(k *killing) { k.half(true) }},
	{"a part of the handshake, dialled", func(k *killing) { k.half(false) }},
}

// killing is one peer that dies.
type killing struct {
	testing.TB
	round  int
	random *rand.Rand
	n      *node
	ctx    context.Context
}

// TestKill kills peers of one process, at random moments of all that they may be
// about, while another peer goes on: each byte of its messages is looked at. The
// survivor is told, all that it posted completes, and it leaks nothing.
func TestKill(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	other := newWitness(t)
	var before holding
	counts := make([]int, len(victims))
	for i := -2 * len(victims); i < *kills; i++ {
		if i == 0 { // what is made once is made
			before = holdings(t)
		}
		kind := (i + 2*len(victims)) % len(victims)
		counts[kind]++
		killOne(t, kind, max(0, i/len(victims)), random, other)
		if t.Failed() {
			t.Fatalf("%s, number %d", victims[kind].name, i)
		}
	}
	for i, v := range victims {
		t.Logf("%4d times %s", counts[i], v.name)
	}
	t.Logf("%d messages to and from the other peer meanwhile; %+v before, %+v after", other.rounds, before, settled(t, before))
}

func killOne(t *testing.T, kind, round int, random *rand.Rand, other *witness) {
	t.Helper()
	n, err := newNode(verbs.QPAttr{Type: verbs.RC, SendWR: 16, RecvWR: 16}, 4<<20, all)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	k := &killing{TB: t, round: round, random: random, n: n, ctx: ctx}
	rest := other.start(ctx)
	victims[kind].run(k)
	rest(t)
	if err := k.n.close(); err != nil {
		t.Error(err)
	}
}

// holding is what a process could leak.
type holding struct{ files, mappings, goroutines, threads int }

func holdings(t *testing.T) (h holding) {
	t.Helper()
	count := func(dir string) int {
		list, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		return len(list)
	}
	text, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Fatal(err)
	}
	return holding{count("/proc/self/fd"), strings.Count(string(text), "memfd:"), runtime.NumGoroutine(), count("/proc/self/task")}
}

// settled is what is held when all has ended that is about to: no more than
// before. Go keeps its threads for later; they must not grow with the kills.
func settled(t *testing.T, before holding) (h holding) {
	t.Helper()
	for start := time.Now(); time.Since(start) < 5*time.Second; runtime.Gosched() {
		h = holdings(t)
		if h.files <= before.files && h.mappings <= before.mappings && h.goroutines <= before.goroutines && h.threads <= before.threads+8 {
			return h
		}
	}
	t.Errorf("%+v before, %+v after", before, h)
	return h
}

// witness is a peer that lives, whose messages are looked at.
type witness struct {
	n      *node
	rounds int
	buf    []byte
	noise  *rand.ChaCha8
}

func newWitness(t *testing.T) *witness {
	w := &witness{n: made(t, verbs.QPAttr{Type: verbs.RC}, 1<<20, all), buf: make([]byte, 1<<16), noise: rand.NewChaCha8([32]byte{1})}
	spawn(t, "echo").meet(t, w.n)
	return w
}

// start has messages go there and back until the function that it gives is
// called, at least one.
func (w *witness) start(ctx context.Context) (stop func(testing.TB)) {
	done, failed := make(chan struct{}), make(chan error, 1)
	go func() {
		for {
			if err := w.round(ctx); err != nil {
				failed <- err
				return
			}
			select {
			case <-done:
				failed <- nil
				return
			default:
			}
		}
	}()
	return func(t testing.TB) {
		t.Helper()
		close(done)
		if err := <-failed; err != nil {
			t.Errorf("the other peer, message %d: %v", w.rounds, err)
		}
	}
}

func (w *witness) round(ctx context.Context) error {
	w.rounds++
	sizes := [...]int{8, 1, 64, 4096, 65536, 300, 9000}
	size, n := sizes[w.rounds%len(sizes)], w.n
	_, _ = w.noise.Read(w.buf[:size]) // never fails
	copy(n.mem.Bytes(), w.buf[:size])
	err := errors.Join(
		n.qp.PostRecv(&verbs.RecvWR{ID: 1, SGEs: []verbs.SGE{n.mr.SGE(1<<19, 1<<16)}}),
		n.qp.PostSend(&verbs.SendWR{ID: 2, Op: verbs.OpSend, SGEs: []verbs.SGE{n.mr.SGE(0, size)}}),
	)
	if err != nil {
		return err
	}
	wcs, err := n.await(ctx, 1)
	switch {
	case err != nil:
		return err
	case wcs[0].Status != verbs.StatusOK || wcs[0].ID != 1 || int(wcs[0].ByteLen) != size:
		return fmt.Errorf("%+v of %d bytes", wcs[0], size)
	case !bytes.Equal(n.mem.Bytes()[1<<19:][:size], w.buf[:size]):
		return fmt.Errorf("%d bytes came back wrong", size)
	}
	return nil
}

// soonDead starts a role, connects, and kills it after a while of less than most.
func (k *killing) soonDead(role string, most time.Duration) (c *child, peer hello) {
	k.Helper()
	c = begin(k, role)
	peer = c.meet(k, k.n)
	time.AfterFunc(time.Duration(k.random.Int64N(int64(most))), c.kill)
	return c, peer
}

// told returns when the device has said that the peer is gone, and the QP fails
// what is posted.
func (k *killing) told(c *child) {
	k.Helper()
	c.end()
	for {
		event, err := k.n.ctx.Event(k.ctx)
		if err != nil {
			k.Fatalf("no event: %v", err)
		}
		if event.Type == verbs.EventPeerGone && event.QP == k.n.qp {
			break
		}
	}
	if s, err := k.n.qp.State(); s != verbs.Err || err != nil {
		k.Errorf("the QP is in %v, %v", s, err)
	}
}

// completions waits until all that is posted has completed, and gives the last
// status that is none of success.
func (k *killing) completions(posted int) (last verbs.Status) {
	k.Helper()
	for posted > 0 {
		wcs, err := k.n.await(k.ctx, 1)
		if err != nil {
			k.Fatalf("%d did not complete: %v", posted, err)
		}
		if posted--; wcs[0].Status != verbs.StatusOK {
			last = wcs[0].Status
		}
	}
	return last
}

// exchange goes on until the peer is gone.
func (k *killing) exchange(post func(i int) (posted int, err error)) {
	k.Helper()
	for i := 0; ; i++ {
		posted, err := post(i)
		if err != nil {
			k.Fatal(err)
		}
		if k.completions(posted) != verbs.StatusOK {
			return
		}
	}
}

// converse has an echo, with WRITEs in between. Dials is whether the victim is the
// one who comes to the other's socket.
func (k *killing) converse(dials bool) {
	c := begin(k, "echo")
	var peer hello
	if err := c.out.Decode(&peer); err != nil {
		k.Fatal(err)
	}
	const name, end = 4, 20
	for bytes.Compare(peer.Endpoint[name:end], k.n.qp.Endpoint()[name:end]) < 0 != dials {
		k.renew()
	}
	if err := errors.Join(c.in.Encode(k.n.hello()), k.n.qp.Connect(k.ctx, peer.Endpoint)); err != nil {
		k.Fatal(err)
	}
	time.AfterFunc(time.Duration(k.random.IntN(3000))*time.Microsecond, c.kill)
	n := k.n
	k.exchange(func(i int) (int, error) {
		size := 1 << (i % 17)
		if err := n.qp.PostRecv(&verbs.RecvWR{SGEs: []verbs.SGE{n.mr.SGE(1<<19, 1<<16)}}); err != nil {
			return 0, err
		}
		sent, err := n.qp.PostSends([]verbs.SendWR{
			{Op: verbs.OpWrite, Flags: verbs.Signaled, SGEs: []verbs.SGE{n.mr.SGE(0, size)}, RemoteAddr: peer.Addr + 3<<20, RKey: peer.RKey},
			{Op: verbs.OpSend, Flags: verbs.Signaled, SGEs: []verbs.SGE{n.mr.SGE(0, size)}},
		})
		return 1 + sent, err
	})
	k.told(c)
}

// renew makes another node in place of the one that is there.
func (k *killing) renew() {
	if err := k.n.close(); err != nil {
		k.Fatal(err)
	}
	n, err := newNode(verbs.QPAttr{Type: verbs.RC, SendWR: 16, RecvWR: 16}, 4<<20, all)
	if err != nil {
		k.Fatal(err)
	}
	k.n = n
}

// target is written to and read from, up to 1 MiB at once.
func (k *killing) target() {
	c, peer := k.soonDead("passive", 2*time.Millisecond)
	n := k.n
	k.exchange(func(i int) (int, error) {
		size := 1 << (i % 21)
		return n.qp.PostSends([]verbs.SendWR{
			{Op: verbs.OpWrite, Flags: verbs.Signaled, SGEs: []verbs.SGE{n.mr.SGE(0, size)}, RemoteAddr: peer.Addr, RKey: peer.RKey},
			{Op: verbs.OpRead, Flags: verbs.Signaled, SGEs: []verbs.SGE{n.mr.SGE(2<<20, size)}, RemoteAddr: peer.Addr, RKey: peer.RKey},
			{Op: verbs.OpFetchAdd, Flags: verbs.Signaled, SGEs: []verbs.SGE{n.mr.SGE(0, 8)}, RemoteAddr: peer.Addr, RKey: peer.RKey, Swap: 1},
		})
	})
	k.told(c)
}

// receive takes what the victim sends without end.
func (k *killing) receive(size int) {
	c, _ := k.soonDead("blast", 3*time.Millisecond)
	if err := c.in.Encode(size); err != nil && !errors.Is(err, syscall.EPIPE) {
		k.Fatal(err)
	}
	n := k.n
	k.exchange(func(int) (int, error) {
		return 1, n.qp.PostRecv(&verbs.RecvWR{SGEs: []verbs.SGE{n.mr.SGE(0, size)}})
	})
	k.told(c)
}

// blast sends messages of a size without end.
func blast(n *node, _ hello, in *gob.Decoder) error {
	var size int
	if err := in.Decode(&size); err != nil {
		return err
	}
	for {
		if err := n.qp.PostSend(&verbs.SendWR{Op: verbs.OpSend, Flags: verbs.Signaled, SGEs: []verbs.SGE{n.mr.SGE(0, size)}}); err != nil {
			return err
		}
		if _, err := n.await(context.Background(), 1); err != nil {
			return err
		}
	}
}

// sleeper sleeps until something comes, of which it is killed or not.
func (k *killing) sleeper() {
	c, _ := k.soonDead("sleeper", 3*time.Millisecond)
	n := k.n
	pause := time.Duration(k.random.IntN(3000)) * time.Microsecond
	ctx, cancel := context.WithTimeout(k.ctx, pause)
	defer cancel()
	if _, err := n.await(ctx, 1); !errors.Is(err, context.DeadlineExceeded) && err != nil {
		k.Fatal(err)
	}
	k.exchange(func(int) (int, error) {
		return 1, n.qp.PostSend(&verbs.SendWR{Op: verbs.OpSend, Flags: verbs.Signaled, SGEs: []verbs.SGE{n.mr.SGE(0, 8)}})
	})
	k.told(c)
}

// sleeper takes one message at a time.
func sleeper(n *node, _ hello, _ *gob.Decoder) error {
	for {
		if err := n.qp.PostRecv(&verbs.RecvWR{SGEs: []verbs.SGE{n.mr.SGE(0, 64)}}); err != nil {
			return err
		}
		if _, err := n.await(context.Background(), 1); err != nil {
			return err
		}
	}
}

// stopped stops the victim amid messages, which go on with it, and kills it while
// it is stopped again.
func (k *killing) stopped() {
	c := begin(k, "echo")
	c.meet(k, k.n)
	n := k.n
	signal := func(s os.Signal) {
		if err := c.cmd.Process.Signal(s); err != nil {
			k.Fatal(err)
		}
	}
	post := func(i int) (int, error) {
		size := 1 << (i % 17)
		return 2, errors.Join(
			n.qp.PostRecv(&verbs.RecvWR{SGEs: []verbs.SGE{n.mr.SGE(1<<19, 1<<16)}}),
			n.qp.PostSend(&verbs.SendWR{Op: verbs.OpSend, Flags: verbs.Signaled, SGEs: []verbs.SGE{n.mr.SGE(0, size)}}),
		)
	}
	for i := range 40 {
		posted, err := post(i)
		if err != nil {
			k.Fatal(err)
		}
		if i%20 == 10 {
			signal(syscall.SIGSTOP)
			time.AfterFunc(time.Duration(k.random.IntN(5))*time.Millisecond, func() { _ = c.cmd.Process.Signal(syscall.SIGCONT) })
		}
		if status := k.completions(posted); status != verbs.StatusOK {
			k.Fatalf("of a peer that was stopped for a moment: %v", status)
		}
	}
	signal(syscall.SIGSTOP)
	time.AfterFunc(time.Duration(k.random.IntN(2000))*time.Microsecond, c.kill)
	k.exchange(post)
	k.told(c)
}

// connecting kills the victim while both connect.
func (k *killing) connecting() {
	c := begin(k, "sleeper")
	var peer hello
	if err := errors.Join(c.out.Decode(&peer), c.in.Encode(k.n.hello())); err != nil {
		k.Fatal(err)
	}
	time.AfterFunc(time.Duration(k.random.IntN(600))*time.Microsecond, c.kill)
	k.connect(c, peer.Endpoint)
}

// connect connects to a victim that dies. Who dials may not come at all: nobody
// tells that but who carries the endpoints.
func (k *killing) connect(c *child, peer []byte) {
	ctx, cancel := context.WithCancel(k.ctx)
	defer cancel()
	go func() {
		c.wait()
		cancel()
	}()
	err := k.n.qp.Connect(ctx, peer)
	if err == nil {
		<-ctx.Done()
		k.told(c)
		return
	}
	<-ctx.Done()
	c.end()
	if !errors.Is(err, verbs.ErrPeerGone) && !errors.Is(err, context.Canceled) && !errors.Is(err, verbs.ErrInvalid) {
		k.Errorf("connect: %v", err)
	}
	if s, err := k.n.qp.State(); s != verbs.Init || err != nil {
		k.Errorf("the QP is in %v, %v", s, err)
	}
}

// half has the victim die at each step of the handshake.
func (k *killing) half(dials bool) {
	c := begin(k, "half")
	step := k.round % shm.Steps
	var peer hello
	if err := errors.Join(c.in.Encode(dials), c.out.Decode(&peer), c.in.Encode(k.n.hello()), c.in.Encode(step)); err != nil {
		k.Fatal(err)
	}
	go func() {
		var there int
		_ = c.out.Decode(&there) // it may fail: it is at its step then, too
		c.kill()
	}()
	k.connect(c, peer.Endpoint)
}

// half is the role of who goes a part of the way.
func half() error {
	in, out := gob.NewDecoder(os.Stdin), gob.NewEncoder(os.Stdout)
	var dials bool
	if err := in.Decode(&dials); err != nil {
		return err
	}
	h, err := shm.NewHalf(dials)
	if err != nil {
		return err
	}
	var peer hello
	var step int
	if err := errors.Join(out.Encode(hello{Endpoint: h.Endpoint()}), in.Decode(&peer), in.Decode(&step)); err != nil {
		return err
	}
	if err := errors.Join(h.Go(peer.Endpoint, step), out.Encode(step)); err != nil {
		return err
	}
	_ = in.Decode(&step) // until it is killed
	return nil
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

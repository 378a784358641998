//go:build linux && (amd64 || arm64)

package shm_test

import (
	"context"
	"encoding/gob"
	"errors"
	"io"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"heddle/verbs"
	"heddle/verbs/shm"
	"heddle/verbs/verbstest"
)

// node is a context with memory and a QP.
type node struct {
	ctx  verbs.Context
	pd   verbs.PD
	cq   verbs.CQ
	mem  *verbs.Memory
	mr   verbs.MR
	qp   verbs.QP
	wcs  []verbs.WC
	last []io.Closer // in the order in which they are closed
}

// hello is what two nodes tell each other.
type hello struct {
	Endpoint []byte
	Addr     uint64
	RKey     uint32
}

const all = verbs.LocalWrite | verbs.RemoteRead | verbs.RemoteWrite | verbs.RemoteAtomic

// newNode opens the device; attr needs no CQs.
func newNode(attr verbs.QPAttr, size int, access verbs.Access) (n *node, err error) {
	n = &node{wcs: make([]verbs.WC, 64)}
	devices, err := shm.Provider{}.Devices()
	if err != nil {
		return nil, err
	}
	keep := func(c io.Closer) { n.last = append([]io.Closer{c}, n.last...) }
	if n.ctx, err = devices[0].Open(); err != nil {
		return nil, err
	}
	keep(n.ctx)
	if n.pd, err = n.ctx.AllocPD(); err != nil {
		return nil, err
	}
	keep(n.pd)
	if n.mem, err = verbs.NewMemory(size); err != nil {
		return nil, err
	}
	keep(n.mem)
	if n.mr, err = n.pd.RegisterMR(n.mem, access); err != nil {
		return nil, err
	}
	keep(n.mr)
	if n.cq, err = n.ctx.CreateCQ(verbs.CQAttr{Depth: 4096}); err != nil {
		return nil, err
	}
	keep(n.cq)
	attr.SendCQ, attr.RecvCQ = n.cq, n.cq
	if attr.SRQ != nil {
		return nil, errors.New("an SRQ needs the PD")
	}
	if n.qp, err = n.pd.CreateQP(attr); err != nil {
		return nil, err
	}
	keep(n.qp)
	return n, nil
}

func (n *node) close() (err error) {
	for _, c := range n.last {
		err = errors.Join(err, c.Close())
	}
	return err
}

func (n *node) hello() hello {
	return hello{Endpoint: n.qp.Endpoint(), Addr: n.mr.Addr(), RKey: n.mr.RKey()}
}

// await waits for that many completions.
func (n *node) await(ctx context.Context, count int) ([]verbs.WC, error) {
	got := n.wcs[:0]
	for len(got) < count {
		k, err := verbs.Await(ctx, n.cq, n.wcs[len(got):count])
		if err != nil {
			return got, err
		}
		got = got[:len(got)+k]
	}
	return got, nil
}

// made is a node of a test, closed at its end.
func made(t testing.TB, attr verbs.QPAttr, size int, access verbs.Access) *node {
	t.Helper()
	n, err := newNode(attr, size, access)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := n.close(); err != nil {
			t.Error(err)
		}
	})
	return n
}

// joined are two nodes whose QPs are connected.
func joined(t testing.TB, attr verbs.QPAttr) (a, b *node) {
	t.Helper()
	a, b = made(t, attr, 1<<20, all), made(t, attr, 1<<20, all)
	connect(t, a, b)
	return a, b
}

func connect(t testing.TB, a, b *node) {
	t.Helper()
	ctx := soon(t)
	got := make(chan error, 1)
	go func() { got <- a.qp.Connect(ctx, b.qp.Endpoint()) }()
	if err := errors.Join(b.qp.Connect(ctx, a.qp.Endpoint()), <-got); err != nil {
		t.Fatal(err)
	}
}

// soon is a context for what must not hang.
func soon(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// want checks completions.
func (n *node) want(t testing.TB, count int, status verbs.Status) []verbs.WC {
	t.Helper()
	wcs, err := n.await(soon(t), count)
	if err != nil {
		t.Fatalf("%d of %d completions: %v", len(wcs), count, err)
	}
	for i := range wcs {
		if wcs[i].Status != status {
			t.Fatalf("completion %d: %+v, want %v", i, wcs[i], status)
		}
	}
	return wcs
}

func post(t testing.TB, qp verbs.QP, wr *verbs.SendWR) {
	t.Helper()
	if err := qp.PostSend(wr); err != nil {
		t.Fatal(err)
	}
}

func postRecv(t testing.TB, qp interface{ PostRecv(*verbs.RecvWR) error }, id uint64, sges ...verbs.SGE) {
	t.Helper()
	if err := qp.PostRecv(&verbs.RecvWR{ID: id, SGEs: sges}); err != nil {
		t.Fatal(err)
	}
}

// child is another process of the test binary, which runs a role.
type child struct {
	cmd  *exec.Cmd
	in   *gob.Encoder
	out  *gob.Decoder
	w    io.Closer
	gone sync.Once
}

const roleVar = "HEDDLE_SHM_ROLE"

// spawn starts a role; it ends with the test.
func spawn(t testing.TB, role string) *child {
	t.Helper()
	c := begin(t, role)
	t.Cleanup(c.end)
	return c
}

// begin starts a role, which the caller ends.
func begin(t testing.TB, role string) *child {
	t.Helper()
	cmd := verbstest.Command(t)
	cmd.Env = append(os.Environ(), roleVar+"="+role)
	cmd.Stderr = os.Stderr
	w, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	r, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return &child{cmd: cmd, in: gob.NewEncoder(w), out: gob.NewDecoder(r), w: w}
}

// kill ends the process at once, and may be called by any goroutine.
func (c *child) kill() { _ = c.cmd.Process.Kill() }

// end kills the process, unless it has ended, and returns when it is no more.
func (c *child) end() {
	_ = c.w.Close() // which ends it
	c.kill()        // if it did not end
	c.wait()
}

// wait returns when the process is no more, for any goroutine.
func (c *child) wait() {
	c.gone.Do(func() { _ = c.cmd.Wait() }) // of what was killed
}

// meet connects a node with the child's.
func (c *child) meet(t testing.TB, n *node) (theirs hello) {
	t.Helper()
	if err := errors.Join(c.out.Decode(&theirs), c.in.Encode(n.hello())); err != nil {
		t.Fatal(err)
	}
	if err := n.qp.Connect(soon(t), theirs.Endpoint); err != nil {
		t.Fatal(err)
	}
	return theirs
}

// roles are what children do.
var roles = map[string]func(n *node, peer hello, in *gob.Decoder) error{
	"echo":    echo,
	"bounce":  bounce,
	"passive": passive,
	"sink":    sink,
	"blast":   blast,
	"sleeper": sleeper,
	"pong":    pong,
}

func TestMain(m *testing.M) {
	verbstest.Main(openShm)
	role := os.Getenv(roleVar)
	if role == "" {
		os.Exit(m.Run())
	}
	run := func() error { return runRole(roles[role]) }
	switch role {
	case "half":
		run = half
	case "burn":
		run = burn
	}
	if err := run(); err != nil {
		_, _ = os.Stderr.WriteString(role + ": " + err.Error() + "\n")
		os.Exit(1)
	}
}

func runRole(do func(*node, hello, *gob.Decoder) error) error {
	n, err := newNode(verbs.QPAttr{Type: verbs.RC, SendWR: 256, RecvWR: 1024, SigAll: false}, 4<<20, all)
	if err != nil {
		return err
	}
	in, out := gob.NewDecoder(os.Stdin), gob.NewEncoder(os.Stdout)
	var peer hello
	if err := errors.Join(out.Encode(n.hello()), in.Decode(&peer)); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if err := n.qp.Connect(ctx, peer.Endpoint); err != nil {
		return err
	}
	return errors.Join(do(n, peer, in), n.close())
}

// passive does nothing, until its input ends.
func passive(_ *node, _ hello, in *gob.Decoder) error {
	var none hello
	if err := in.Decode(&none); !errors.Is(err, io.EOF) {
		return err
	}
	return nil
}

// echo sends back each message that comes, from the buffer that it came to.
func echo(n *node, _ hello, _ *gob.Decoder) error {
	const slot, slots = 64 << 10, 32
	for i := range slots {
		if err := n.qp.PostRecv(&verbs.RecvWR{ID: uint64(i), SGEs: []verbs.SGE{n.mr.SGE(i*slot, slot)}}); err != nil {
			return err
		}
	}
	for {
		wcs, err := n.await(context.Background(), 1)
		if err != nil || wcs[0].Status != verbs.StatusOK {
			return err // the peer is gone
		}
		i := int(wcs[0].ID)
		if wcs[0].Op == verbs.OpRecv {
			err = n.qp.PostSend(&verbs.SendWR{ID: uint64(i), Op: verbs.OpSend, Flags: verbs.Signaled, SGEs: []verbs.SGE{n.mr.SGE(i*slot, int(wcs[0].ByteLen))}})
		} else {
			err = n.qp.PostRecv(&verbs.RecvWR{ID: uint64(i), SGEs: []verbs.SGE{n.mr.SGE(i*slot, slot)}})
		}
		if err != nil {
			return err
		}
	}
}

// load is a word of memory that a peer may write to.
func (n *node) load(offset int) uint64 { return atomic.LoadUint64(n.word(offset)) }

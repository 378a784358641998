//go:build linux && (amd64 || arm64)

package shm

import (
	"context"
	"errors"
	"net"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"heddle/verbs"
)

// party is a context with memory and queues.
type party struct {
	*opened
	pd  *domain
	cq  verbs.CQ
	mem *verbs.Memory
	mr  verbs.MR
}

func newParty(t testing.TB) *party {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	ctx, err := device{}.Open()
	must(err)
	p := &party{opened: ctx.(*opened)}
	pd, err := p.AllocPD()
	must(err)
	p.pd = pd.(*domain)
	p.cq, err = p.CreateCQ(verbs.CQAttr{Depth: 1024})
	must(err)
	p.mem, err = verbs.NewMemory(1 << 16)
	must(err)
	p.mr, err = pd.RegisterMR(p.mem, verbs.LocalWrite|remote)
	must(err)
	t.Cleanup(func() {
		if err := errors.Join(p.mr.Close(), p.mem.Close(), p.cq.Close(), p.pd.Close(), p.Close()); err != nil {
			t.Error(err)
		}
	})
	return p
}

func (p *party) newPair(t testing.TB, service verbs.QPType) *pair {
	t.Helper()
	qp, err := p.pd.CreateQP(verbs.QPAttr{Type: service, SendCQ: p.cq, RecvCQ: p.cq, RecvWR: 8, SendWR: 8})
	if err != nil {
		t.Fatal(err)
	}
	return qp.(*pair)
}

func joinPairs(t testing.TB, a, b *pair) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	got := make(chan error, 1)
	go func() { got <- a.Connect(ctx, b.Endpoint()) }()
	if err := errors.Join(b.Connect(ctx, a.Endpoint()), <-got); err != nil {
		t.Fatal(err)
	}
}

// works sends a message between new QPs of two contexts.
func works(t testing.TB, a, b *party) {
	t.Helper()
	x, y := a.newPair(t, verbs.RC), b.newPair(t, verbs.RC)
	joinPairs(t, x, y)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := errors.Join(
		y.PostRecv(&verbs.RecvWR{ID: 1, SGEs: []verbs.SGE{b.mr.SGE(0, 8)}}),
		x.PostSend(&verbs.SendWR{ID: 2, Op: verbs.OpSend, SGEs: []verbs.SGE{a.mr.SGE(0, 8)}}),
	); err != nil {
		t.Fatal(err)
	}
	wcs := make([]verbs.WC, 1)
	for wcs[0].QPN != y.QPN() {
		if _, err := verbs.Await(ctx, b.cq, wcs); err != nil {
			t.Fatal(err)
		}
	}
	if wcs[0].Status != verbs.StatusOK {
		t.Errorf("%+v", wcs[0])
	}
	if err := errors.Join(x.Close(), y.Close()); err != nil {
		t.Error(err)
	}
}

// TestHostileHandshake: peers that are refused, and what becomes of the QP.
func TestHostileHandshake(t *testing.T) {
	a, b := newParty(t), newParty(t)
	good := func(name string, size int) *os.File {
		file, err := newFile(name, size)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = file.Close() })
		return file
	}
	unsealed, err := unix.MemfdCreate("unsealed", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		t.Fatal(err)
	}
	loose := os.NewFile(uintptr(unsealed), "unsealed")
	defer loose.Close() //nolint:errcheck // of a test
	if err := loose.Truncate(int64(controlSize(ringSize))); err != nil {
		t.Fatal(err)
	}
	rings, bell, board := good("rings", controlSize(ringSize)), good("bell", pageBytes), good("board", boardBytes)
	for name, test := range map[string]struct {
		change func(f *frame)
		files  []*os.File
	}{
		"another secret": {func(f *frame) { f.Secret[3]++ }, []*os.File{rings, bell, board}},
		"another QP":     {func(f *frame) { f.To += 1000 }, []*os.File{rings, bell, board}},
		"another kind":   {func(f *frame) { f.Kind = welcomeFrame }, []*os.File{rings, bell, board}},
		"another type":   {func(f *frame) { f.From.Type = verbs.UC }, []*os.File{rings, bell, board}},
		"no files":       {func(*frame) {}, nil},
		"two files":      {func(*frame) {}, []*os.File{rings, bell}},
	} {
		q := a.newPair(t, verbs.RC)
		conn, err := net.DialUnix("unixpacket", nil, q.self.socket())
		if err != nil {
			t.Fatal(err)
		}
		f := &frame{Kind: helloFrame, To: q.self.QPN, Secret: q.self.Secret, From: endpoint{QPN: 3, Type: verbs.RC}}
		test.change(f)
		if err := send(conn, f, test.files...); err != nil {
			t.Fatal(err)
		}
		if _, _, err := receive(conn); err == nil {
			t.Errorf("%s: got an answer", name)
		}
		if q.unpark() != nil {
			t.Errorf("%s: was let in", name)
		}
		if err := errors.Join(conn.Close(), q.Close()); err != nil {
			t.Error(err)
		}
	}
	for name, files := range map[string][]*os.File{
		"rings not sealed": {loose, bell, board},
		"short rings":      {bell, bell, board},
		"short board":      {rings, bell, bell},
		"no such bell":     {rings, os.Stdin, board},
	} {
		q := a.newPair(t, verbs.RC)
		conn, err := net.DialUnix("unixpacket", nil, q.self.socket())
		if err != nil {
			t.Fatal(err)
		}
		me := endpoint{QPN: 3, Type: verbs.RC}
		if err := send(conn, &frame{Kind: helloFrame, To: q.self.QPN, Secret: q.self.Secret, From: me}, files...); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		if err := q.Connect(ctx, me.AppendTo(nil)); err == nil {
			t.Errorf("%s: connected", name)
		}
		cancel()
		if s := q.now(); s != verbs.Init {
			t.Errorf("%s: the QP is in %v", name, s)
		}
		if err := errors.Join(conn.Close(), q.Close()); err != nil {
			t.Error(err)
		}
	}
	works(t, a, b)
}

// TestReadOnlyTarget: a peer that may only read gets a descriptor that cannot
// write, and the board cannot be written to either.
func TestReadOnlyTarget(t *testing.T) {
	a := newParty(t)
	mem, err := verbs.NewMemory(4096)
	if err != nil {
		t.Fatal(err)
	}
	mr, err := a.pd.RegisterMR(mem, verbs.RemoteRead)
	if err != nil {
		t.Fatal(err)
	}
	_, file := a.describe(a.pd.number, mr.RKey())
	if file == nil {
		t.Fatal("no descriptor")
	}
	for _, f := range []*os.File{file, a.board.reading} {
		if _, err := mapFile(f, 0, 4096, 1, true); err == nil {
			t.Errorf("%s was mapped for writing", f.Name())
		}
		if _, err := f.WriteAt([]byte{1}, 0); err == nil {
			t.Errorf("%s was written to", f.Name())
		}
	}
	if _, got := a.describe(a.pd.number+1, mr.RKey()); got != nil {
		t.Error("another PD was given the region")
	}
	if err := errors.Join(file.Close(), mr.Close(), mem.Close()); err != nil {
		t.Error(err)
	}
	if _, got := a.describe(a.pd.number, mr.RKey()); got != nil {
		t.Error("a closed region was given away")
	}
}

// TestHeapIsNoTarget: memory without a file is for local use only.
func TestHeapIsNoTarget(t *testing.T) {
	a := newParty(t)
	pages, err := unix.Mmap(-1, 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Munmap(pages) //nolint:errcheck // of a test
	mem, err := verbs.UseMemory(pages, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.pd.RegisterMR(mem, verbs.LocalWrite|verbs.RemoteWrite); !errors.Is(err, verbs.ErrNotSupported) {
		t.Errorf("memory without a file as a target: %v", err)
	}
	mr, err := a.pd.RegisterMR(mem, verbs.LocalWrite)
	if err != nil {
		t.Fatal(err)
	}
	if err := mr.Close(); err != nil {
		t.Error(err)
	}
}

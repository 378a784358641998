//go:build linux && (amd64 || arm64)

package shm

import (
	"bytes"
	"context"
	"encoding/binary"
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

// FuzzControlRing: whatever a peer writes into the memory that it shares with a
// QP, nothing but that QP suffers: no crash, no byte outside of posted buffers,
// each posted request completes once at most.
func FuzzControlRing(f *testing.F) {
	record := func(k kind, flags uint8, n uint32) []byte {
		return binary.NativeEndian.AppendUint64(nil, uint64(n)|uint64(flags)<<24|uint64(k)<<32)
	}
	f.Add(uint64(0), uint64(0), uint32(0), record(sendKind, firstFlag|lastFlag, 8))
	f.Add(uint64(1<<40), uint64(1), uint32(3), record(sendKind, firstFlag, maxPiece))
	f.Add(uint64(16), uint64(17), uint32(1), record(writeImmKind, firstFlag|lastFlag, 0))
	f.Add(^uint64(0), uint64(0), uint32(0), record(datagramKind, firstFlag|lastFlag, 100))
	f.Add(uint64(8), uint64(9), uint32(10), bytes.Repeat(record(sendKind, firstFlag|lastFlag|immFlag, 0), 64))
	f.Add(uint64(0), uint64(0), uint32(0), record(9, 0xff, 0xffffff))
	a, b := newParty(f), newParty(f)
	f.Fuzz(func(t *testing.T, head, rnr uint64, fail uint32, data []byte) {
		x, y := a.newPair(t, verbs.RC), b.newPair(t, verbs.RC)
		joinPairs(t, x, y)
		const guard, buffer = 0x5a, 64
		for i := range b.mem.Bytes() {
			b.mem.Bytes()[i] = guard
		}
		for i := range 4 {
			if err := y.PostRecv(&verbs.RecvWR{ID: uint64(i), SGEs: []verbs.SGE{b.mr.SGE(i*buffer, buffer)}}); err != nil {
				t.Fatal(err)
			}
		}
		spoil(x, head, rnr, fail, data)
		posted := 4
		for i := range 3 {
			if y.PostSend(&verbs.SendWR{ID: uint64(10 + i), Op: verbs.OpSend, Flags: verbs.Signaled, SGEs: []verbs.SGE{b.mr.SGE(0, 32)}}) == nil {
				posted++
			}
		}
		wcs := make([]verbs.WC, 64)
		for range 20 {
			n, err := b.cq.Poll(wcs)
			if posted -= n; err != nil || posted < 0 {
				t.Fatalf("%d completions, %v", n, err)
			}
		}
		for i, c := range b.mem.Bytes()[4*buffer:] {
			if c != guard {
				t.Fatalf("byte %d was written", 4*buffer+i)
			}
		}
		if err := errors.Join(x.Close(), y.Close()); err != nil {
			t.Fatal(err)
		}
	})
}

// spoil writes what x shares with its peer, as a hostile peer does.
func spoil(x *pair, head, rnr uint64, fail uint32, data []byte) {
	x.sending.Lock()
	defer x.sending.Unlock()
	l := x.link.Load()
	copy(l.out.data, data)
	l.in.head.Store(head)
	l.in.rnr.Store(rnr)
	l.in.fail.Store(fail)
	l.in.accused.Store(fail >> 8)
}

// FuzzHandshake: whatever comes to a context's socket, with and without files,
// from who knows a QP's secret and who does not: no crash, and others still get
// in. What is a frame encodes to the same bytes again.
func FuzzHandshake(f *testing.F) {
	hello := (&frame{Kind: helloFrame, From: endpoint{Type: verbs.RC}}).AppendTo(nil)
	f.Add(uint8(0), hello)
	f.Add(uint8(3), append(bytes.Clone(hello), hello...))
	for k := askFrame; k <= byeFrame; k++ {
		f.Add(uint8(0x80|k), (&frame{Kind: k, Times: 1, Size: 1 << 50, Key: 5, From: endpoint{Type: verbs.RC}}).AppendTo(nil))
	}
	f.Add(uint8(1), []byte{})
	a := newParty(f)
	f.Fuzz(func(t *testing.T, how uint8, data []byte) {
		if got, err := parseFrame(data); err == nil && !bytes.Equal(got.AppendTo(nil), data) {
			t.Fatalf("%+v encodes to other bytes", got)
		}
		q := a.newPair(t, verbs.RC)
		conn, err := net.DialUnix("unixpacket", nil, q.self.socket())
		if err != nil {
			t.Fatal(err)
		}
		me := endpoint{QPN: 9, Type: verbs.RC}
		if how&0x80 != 0 {
			letIn(t, q, conn, &me)
		}
		files := oddFiles(t, how)
		for len(data) > 0 {
			n := min(len(data), frameSize)
			_, _, err := conn.WriteMsgUnix(data[:n], rights(files), nil)
			if err != nil {
				break // it was thrown out
			}
			data = data[n:]
		}
		if err := errors.Join(closeFiles(files), conn.Close(), q.Close()); err != nil {
			t.Fatal(err)
		}
	})
}

// letIn has a peer that is none connect.
func letIn(t *testing.T, q *pair, conn *net.UnixConn, me *endpoint) {
	t.Helper()
	rings, err := newFile("rings", controlSize(ringSize))
	if err != nil {
		t.Fatal(err)
	}
	hello := &frame{Kind: helloFrame, To: q.self.QPN, Secret: q.self.Secret, From: *me}
	if err := send(conn, hello, rings, q.host.bell.file, q.host.board.reading); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := errors.Join(q.Connect(ctx, me.AppendTo(nil)), rings.Close()); err != nil {
		t.Fatal(err)
	}
}

// oddFiles are up to three files: too short, not sealed, or right.
func oddFiles(t *testing.T, how uint8) (files []*os.File) {
	t.Helper()
	for i := range int(how) % 4 {
		size := []int{1, controlSize(ringSize), boardBytes}[i]
		fd, err := unix.MemfdCreate("odd", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
		if err != nil {
			t.Fatal(err)
		}
		file := os.NewFile(uintptr(fd), "odd")
		if err := file.Truncate(int64(size)); err != nil {
			t.Fatal(err)
		}
		if how&4 != 0 {
			if _, err := unix.FcntlInt(file.Fd(), unix.F_ADD_SEALS, seals); err != nil {
				t.Fatal(err)
			}
		}
		files = append(files, file)
	}
	return files
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

//go:build amd64 || arm64

package ibv

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
	"unsafe"

	"github.com/ebitengine/purego"
	"github.com/google/go-cmp/cmp"

	"heddle/ib"
	"heddle/internal/testenv"
	"heddle/verbs"
)

// A driver's file whose functions run in user space is named so.
const userSpaceDriver = "libmlx5-rdmav0.so"

// dummy is testdata/dummy.c, loaded as libibverbs.
type dummy struct {
	t        testing.TB
	provider *Provider
	handle   uintptr
}

// compiler makes programs for the machine that the tests run on, which may be
// another one than this.
func compiler() string {
	if cc := os.Getenv("CC"); cc != "" {
		return cc
	}
	return "cc"
}

func newDummy(t testing.TB, file string, flags ...string) *dummy {
	t.Helper()
	cc := testenv.Peer(t, compiler())
	path := filepath.Join(t.TempDir(), file)
	args := append([]string{"-O2", "-shared", "-fPIC", "-o", path, "testdata/dummy.c"}, flags...)
	if out, err := exec.Command(cc, args...).CombinedOutput(); err != nil {
		t.Fatalf("cc: %v\n%s", err, out)
	}
	d := &dummy{t: t, provider: &Provider{Library: path}}
	var err error
	if d.handle, err = purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_LOCAL); err != nil {
		t.Fatal(err)
	}
	return d
}

// symbol is the address of one of the dummy's own symbols.
func (d *dummy) symbol(name string) uintptr {
	d.t.Helper()
	at, err := purego.Dlsym(d.handle, name)
	if err != nil {
		d.t.Fatal(err)
	}
	return at
}

// variable is one of its variables.
func variable[T any](d *dummy, name string) *T {
	at := d.symbol(name)
	return *(**T)(unsafe.Pointer(&at))
}

func (d *dummy) open() *deviceContext {
	d.t.Helper()
	devices, err := d.provider.Devices()
	if err != nil || len(devices) != 1 || devices[0].Name() != "dummy0" {
		d.t.Fatalf("%v, %v", devices, err)
	}
	c, err := devices[0].Open()
	must(d.t, err)
	return c.(*deviceContext)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// bench is an opened dummy with one object of each kind.
type bench struct {
	*dummy
	ctx *deviceContext
	pd  *pd
	cq  *cq
	mem *verbs.Memory
	mr  verbs.MR
	qp  *qp
}

func newBench(t testing.TB, a verbs.QPAttr) *bench {
	t.Helper()
	b := &bench{dummy: newDummy(t, userSpaceDriver)}
	b.ctx = b.open()
	domain, err := b.ctx.AllocPD()
	must(t, err)
	queue, err := b.ctx.CreateCQ(verbs.CQAttr{Depth: 64})
	must(t, err)
	b.pd, b.cq = domain.(*pd), queue.(*cq)
	b.mem, err = verbs.NewMemory(4096)
	must(t, err)
	b.mr, err = b.pd.RegisterMR(b.mem, verbs.LocalWrite)
	must(t, err)
	a.SendCQ, a.RecvCQ = b.cq, b.cq
	pair, err := b.pd.CreateQP(a)
	must(t, err)
	b.qp = pair.(*qp)
	return b
}

// close closes all, and wants nothing to be left.
func (b *bench) close() {
	b.t.Helper()
	for _, c := range []interface{ Close() error }{b.qp, b.mr, b.cq, b.pd, b.ctx, b.mem} {
		must(b.t, c.Close())
	}
	if left := *variable[int32](b.dummy, "dummy_open"); left != 0 {
		b.t.Errorf("%d objects were not destroyed", left)
	}
}

// connect connects the QP with itself.
func (b *bench) connect() {
	b.t.Helper()
	var hello []byte
	if b.qp.Type() != verbs.UD {
		hello = b.qp.Endpoint()
	}
	must(b.t, b.qp.Connect(b.t.Context(), hello))
}

func TestDummyDevice(t *testing.T) {
	b := newBench(t, verbs.QPAttr{Type: verbs.RC, Inline: 100})
	defer b.close()
	want := verbs.DeviceAttr{
		NodeGUID: 0x0002c90300001234, VendorID: 0x2c9, PartID: 4129, Firmware: "1.2.3", Ports: 1,
		MaxQP: 64, MaxQPWR: 80, MaxSGE: 96, MaxCQ: 112, MaxCQE: 128, MaxMR: 144, MaxPD: 160, MaxReads: 176, MaxReadsInit: 192,
		MaxAH: 240, MaxSRQ: 256, MaxSRQWR: 272, MaxInline: 200, MaxMRSize: 1 << 40, MaxMW: 208, MaxDM: 4096,
	}
	if diff := cmp.Diff(want, b.ctx.Attr()); diff != "" {
		t.Errorf("attributes (-want +got):\n%s", diff)
	}
	caps := b.ctx.Caps()
	if !caps.WriteOrder.Ordered() || caps.WriteOrder.Origin != verbs.Probed || caps.FetchOrder.Origin != verbs.Unknown {
		t.Errorf("order: %+v", caps)
	}
	if caps.AtomicsWithCPU != (verbs.Promise{Holds: true, Origin: verbs.Probed}) || !caps.Windows1 || !caps.Windows2 || !caps.DeviceMemory || !caps.BlockLoopback || caps.MTU != 2048 {
		t.Errorf("%+v", caps)
	}
	port, err := b.ctx.Port(1)
	wantPort := verbs.PortAttr{
		State: verbs.PortActive, LinkLayer: verbs.LinkInfiniBand, MaxMTU: ib.MTU4096, ActiveMTU: ib.MTU2048,
		LID: 7, SMLID: 1, GIDs: 4, PKeys: 1, Rate: ib.LinkRate{Width: ib.Width4x, Speed: ib.HDR}, MaxMessage: 1 << 30,
	}
	if diff := cmp.Diff(wantPort, port); diff != "" || err != nil {
		t.Errorf("port: %v (-want +got):\n%s", err, diff)
	}
	if e, err := b.ctx.GID(1, 1); e.GID != ib.MustParseGID("fe80::2:c903:0:1235") || e.Type != verbs.GIDInfiniBand || err != nil {
		t.Errorf("GID 1: %+v, %v", e, err)
	}
	if _, err := b.ctx.GID(1, 2); !errors.Is(err, verbs.ErrNotFound) {
		t.Errorf("GID 2: %v", err)
	}
}

// TestLibraryThatIsAnother: what is not understood is refused.
func TestLibraryThatIsAnother(t *testing.T) {
	var layout *layoutError
	devices, err := newDummy(t, "libmoved.so", "-DMOVED").provider.Devices()
	must(t, err)
	if _, err := devices[0].Open(); !errors.As(err, &layout) {
		t.Errorf("functions that moved: %v", err)
	}
	for _, name := range []string{"libc.so.6", "/nowhere/libibverbs.so.1"} {
		if devices, err := (&Provider{Library: name}).Devices(); !errors.Is(err, verbs.ErrNoDevice) {
			t.Errorf("%s: %v, %v", name, devices, err)
		}
	}
}

// TestConnectAttributes is what the library is told on the way to RTS.
func TestConnectAttributes(t *testing.T) {
	b := newBench(t, verbs.QPAttr{
		Type: verbs.RC, SL: 3, Reads: 20, Timeout: time.Second, Retries: verbs.Times(5), RNRRetries: verbs.Times(2), RNRTimer: time.Millisecond,
	})
	defer b.close()
	attr, mask := variable[ibvQPAttr](b.dummy, "dummy_attr"), variable[uint32](b.dummy, "dummy_mask")
	if attr.State != 1 || attr.Port != 1 || attr.Access != accessRead|accessWrite|accessAtomic || *mask != 0x39 {
		t.Errorf("INIT: %+v, %#x", *attr, *mask)
	}
	peer := verbs.EndpointAttr{Type: verbs.RC, Link: verbs.LinkInfiniBand, MTU: ib.MTU1024, Reads: 4, LID: 9, QPN: 0x77, PSN: 0x1234, GID: ib.MustParseGID("fe80::1")}
	to, _ := b.qp.peer(peer.Encode())
	raw, m := b.qp.toReceive(to)
	want := &ibvQPAttr{State: 2, MTU: 3, RecvPSN: 0x1234, DestQPN: 0x77, AH: ibvAHAttr{DLID: 9, SL: 3, Port: 1}, DestReads: 20, RNRTimer: 14}
	if *raw != *want || m != 0x121181|qpRNRTimer {
		t.Errorf("RTR: %+v, %#x", *raw, m)
	}
	must(t, b.qp.Connect(t.Context(), peer.Encode()))
	if attr.State != 3 || attr.SendPSN != b.qp.psn || attr.Reads != 4 || attr.Timeout != 18 || attr.Retries != 5 || attr.RNRRetry != 2 || *mask != 0x12e01 {
		t.Errorf("RTS: %+v, %#x", *attr, *mask)
	}
	peer.GID = ib.MustParseGID("fec0::1")
	if to := b.qp.addressOf(&peer); to.Global != 1 || to.GRH.GID != peer.GID || to.GRH.HopLimit == 0 {
		t.Errorf("a peer in another subnet: %+v", to)
	}
}

// TestRequests is how each operation looks to the library.
func TestRequests(t *testing.T) {
	b := newBench(t, verbs.QPAttr{Type: verbs.RC, Inline: 100})
	defer b.close()
	b.connect()
	sent := variable[ibvSendWR](b.dummy, "dummy_sends")
	sges := []verbs.SGE{b.mr.SGE(0, 8)}
	inline := []byte("inline")
	at := func(p any) uintptr {
		switch p := p.(type) {
		case []verbs.SGE:
			return uintptr(unsafe.Pointer(&p[0]))
		}
		return uintptr(unsafe.Pointer(&b.qp.send.inline[0]))
	}
	for _, test := range []struct {
		wr   verbs.SendWR
		want ibvSendWR
	}{
		{verbs.SendWR{ID: 5, Op: verbs.OpSend, SGEs: sges}, ibvSendWR{ID: 5, SGEs: at(sges), NumSGE: 1, Op: wrSend}},
		{verbs.SendWR{Op: verbs.OpSendImm, Imm: 0x01020304, Flags: verbs.Signaled | verbs.Solicited}, ibvSendWR{Op: wrSendImm, Imm: 0x04030201, Flags: 6}},
		{verbs.SendWR{Op: verbs.OpWrite, SGEs: sges, RemoteAddr: 1 << 40, RKey: 9, Flags: verbs.Fence}, ibvSendWR{SGEs: at(sges), NumSGE: 1, Flags: 1, Words: [4]uint64{1 << 40, 9}}},
		{verbs.SendWR{Op: verbs.OpSend, InlineData: inline, Flags: verbs.Inline}, ibvSendWR{SGEs: at(inline), NumSGE: 1, Op: wrSend, Flags: 8}},
		{verbs.SendWR{Op: verbs.OpRead, SGEs: sges, RemoteAddr: 3, RKey: 9}, ibvSendWR{SGEs: at(sges), NumSGE: 1, Op: wrRDMARead, Words: [4]uint64{3, 9}}},
		{verbs.SendWR{Op: verbs.OpFetchAdd, SGEs: sges, RemoteAddr: 8, RKey: 9, Swap: 4}, ibvSendWR{SGEs: at(sges), NumSGE: 1, Op: wrFetchAdd, Words: [4]uint64{8, 4, 0, 9}}},
		{verbs.SendWR{Op: verbs.OpCompareSwap, SGEs: sges, RemoteAddr: 8, RKey: 9, Compare: 3, Swap: 4}, ibvSendWR{SGEs: at(sges), NumSGE: 1, Op: wrCompareSwap, Words: [4]uint64{8, 3, 4, 9}}},
	} {
		b.qp.send.wrs[0] = ibvSendWR{}
		must(t, b.qp.PostSend(&test.wr))
		if *sent != test.want {
			t.Errorf("%v: %+v, want %+v", test.wr.Op, *sent, test.want)
		}
	}
	if sge := b.qp.send.inline[0]; sge.Addr != uint64(uintptr(unsafe.Pointer(&inline[0]))) || sge.Length != 6 {
		t.Errorf("inline: %+v", sge)
	}
}

func TestDatagramRequest(t *testing.T) {
	b := newBench(t, verbs.QPAttr{Type: verbs.UD, QKey: 5})
	b.connect()
	to, qpn, qkey, err := b.pd.ResolveAH(b.qp.Endpoint())
	must(t, err)
	if attr := variable[ibvAHAttr](b.dummy, "dummy_attr"); attr.DLID != 7 || attr.Global != 0 || attr.Port != 1 {
		t.Errorf("address: %+v", *attr)
	}
	wr := verbs.SendWR{Op: verbs.OpSend, AH: to, RemoteQPN: qpn, RemoteQKey: qkey}
	must(t, b.qp.PostSend(&wr))
	sent := variable[ibvSendWR](b.dummy, "dummy_sends")
	if want := [4]uint64{uint64(ptr(to.(*ah).c)), uint64(qpn) | 5<<32}; sent.Words != want {
		t.Errorf("%x, want %x", sent.Words, want)
	}
	group := ib.MustParseMGID("ff12::1")
	must(t, b.qp.Attach(group, 0xc001))
	if err := b.qp.Attach(ib.MustParseMGID("ff12::2"), 0); !errors.Is(err, verbs.ErrInvalid) {
		t.Errorf("group without a LID: %v", err)
	}
	must(t, b.qp.Detach(group, 0xc001))
	if err := b.pd.Close(); !errors.Is(err, verbs.ErrBusy) {
		t.Errorf("close: %v", err)
	}
	must(t, to.Close())
	if err := b.qp.PostSend(&wr); !errors.Is(err, verbs.ErrClosed) {
		t.Errorf("to a closed address: %v", err)
	}
	b.close()
}

// TestListsThatAreRefused: the index of what was not posted is right in every
// part of a long list (case V3).
func TestListsThatAreRefused(t *testing.T) {
	b := newBench(t, verbs.QPAttr{Type: verbs.RC})
	defer b.close()
	b.connect()
	refuse := variable[int32](b.dummy, "dummy_refuse")
	sends, recvs := make([]verbs.SendWR, 80), make([]verbs.RecvWR, 80)
	for i := range sends {
		sends[i].Op = verbs.OpSend
	}
	check := func(what string, n int, err error, wantN int, want error) {
		t.Helper()
		if n != wantN || !errors.Is(err, want) {
			t.Errorf("%s: %d, %v, want %d, %v", what, n, err, wantN, want)
		}
	}
	*refuse = 5
	n, err := b.qp.PostSends(sends)
	check("full send queue", n, err, 5, verbs.ErrQueueFull)
	n, err = b.qp.PostRecvs(recvs)
	check("full receive queue", n, err, 5, verbs.ErrQueueFull)
	check("one", 0, b.qp.PostRecv(&recvs[0]), 0, nil)
	*refuse = 0
	check("one of none", 0, b.qp.PostRecv(&recvs[0]), 0, verbs.ErrQueueFull)
	check("one of none", 0, b.qp.PostSend(&sends[0]), 0, verbs.ErrQueueFull)
	*refuse = -1
	n, err = b.qp.PostSends(sends)
	check("all", n, err, 80, nil)
	n, err = b.qp.PostRecvs(recvs)
	check("all", n, err, 80, nil)
	sends[70].SGEs = make([]verbs.SGE, 2)
	n, err = b.qp.PostSends(sends)
	check("a send with too many SGEs", n, err, 70, verbs.ErrTooManySGEs)
	recvs[64].SGEs = make([]verbs.SGE, 2)
	n, err = b.qp.PostRecvs(recvs)
	check("a receive with too many SGEs", n, err, 64, verbs.ErrTooManySGEs)
}

func TestDummyCompletions(t *testing.T) {
	b := newBench(t, verbs.QPAttr{Type: verbs.RC})
	defer b.close()
	b.connect()
	const n = 70
	for i := range n {
		must(t, b.qp.PostSend(&verbs.SendWR{ID: uint64(i), Op: verbs.OpWrite, Flags: verbs.Signaled}))
	}
	wcs := make([]verbs.WC, 100)
	got, err := b.cq.Poll(wcs)
	if got != n || err != nil {
		t.Fatalf("%d completions, %v", got, err)
	}
	for i, wc := range wcs[:n] {
		if wc != (verbs.WC{ID: uint64(i), Op: verbs.OpWrite, QPN: b.qp.QPN()}) {
			t.Errorf("%d: %+v", i, wc)
		}
	}
	waited := make(chan error)
	go func() { waited <- b.cq.Wait(t.Context()) }()
	must(t, b.cq.Arm(false))
	must(t, b.qp.PostSend(&verbs.SendWR{Op: verbs.OpWrite, Flags: verbs.Signaled}))
	must(t, <-waited)
}

func TestDummyEvents(t *testing.T) {
	b := newBench(t, verbs.QPAttr{Type: verbs.RC})
	defer b.close()
	emit := func(element uintptr, kind int) {
		t.Helper()
		if ret, _ := invoke(b.ctx.lib, b.symbol("dummy_event"), element, uintptr(kind)); int32(ret) != 0 {
			t.Fatal("no event")
		}
	}
	next := func(want verbs.Event) {
		t.Helper()
		got, err := b.ctx.Event(t.Context())
		if got != want || err != nil {
			t.Errorf("%+v, %v, want %+v", got, err, want)
		}
	}
	emit(1, 6)    // path migrated: passed over
	emit(1, 1000) // not known
	emit(77, 1)   // of a QP that is none of ours
	emit(1, 10)
	next(verbs.Event{Type: verbs.EventPortError, Port: 1})
	emit(ptr(b.qp.c), 3)
	next(verbs.Event{Type: verbs.EventQPAccess, QP: b.qp, QPN: b.qp.QPN()})
	emit(ptr(b.cq.c), 0)
	next(verbs.Event{Type: verbs.EventCQ, CQ: b.cq})
	if s, err := b.qp.State(); s != verbs.Err || err != nil {
		t.Errorf("after an overrun: %v, %v", s, err)
	}
	if _, err := b.cq.Poll(make([]verbs.WC, 1)); !errors.Is(err, verbs.ErrCQOverrun) {
		t.Errorf("poll after an overrun: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := b.ctx.Event(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v", err)
	}
	emit(0, -1)
	if _, err := b.ctx.Event(t.Context()); !errors.Is(err, verbs.ErrNoDevice) {
		t.Errorf("after the device is gone: %v", err)
	}
}

func TestDummyAllocations(t *testing.T) {
	b := newBench(t, verbs.QPAttr{Type: verbs.RC})
	defer b.close()
	b.connect()
	var (
		pair  verbs.QP = b.qp
		queue verbs.CQ = b.cq
		wcs            = make([]verbs.WC, 4)
		sges           = []verbs.SGE{b.mr.SGE(0, 8)}
		send           = verbs.SendWR{Op: verbs.OpWrite, Flags: verbs.Signaled, SGEs: sges}
		recv           = verbs.RecvWR{SGEs: sges}
	)
	allocs := testing.AllocsPerRun(100, func() {
		must(t, pair.PostSend(&send))
		must(t, pair.PostRecv(&recv))
		must(t, queue.Arm(false))
		if n, err := queue.Poll(wcs); n != 1 || err != nil {
			t.Error(n, err)
		}
	})
	if allocs != 0 {
		t.Errorf("%v allocations", allocs)
	}
}

func TestMemlockError(t *testing.T) {
	b := newBench(t, verbs.QPAttr{Type: verbs.RC})
	defer b.close()
	mem, err := verbs.NewMemory(2 << 20)
	must(t, err)
	defer mem.Close()
	_, err = b.pd.RegisterMR(mem, verbs.LocalWrite)
	var memlock *verbs.MemlockError
	if err == nil || errors.As(err, &memlock) && memlock.Need != 2<<20 {
		t.Errorf("memory that the dummy refuses: %v", err)
	}
}

// BenchmarkOverhead measures what each call costs above the same in C, which the
// dummy library does itself. Go and C take turns; the shortest of each counts.
func BenchmarkOverhead(b *testing.B) {
	d := newBench(b, verbs.QPAttr{Type: verbs.RC})
	defer d.close()
	d.connect()
	var (
		pair  verbs.QP = d.qp
		queue verbs.CQ = d.cq
		sges           = []verbs.SGE{d.mr.SGE(0, 8)}
		send           = verbs.SendWR{Op: verbs.OpWrite, SGEs: sges, RemoteAddr: d.mr.Addr(), RKey: d.mr.RKey()}
		recv           = verbs.RecvWR{SGEs: sges}
		wcs            = make([]verbs.WC, 1)
		sends          = make([]verbs.SendWR, 32)
	)
	for i := range sends {
		sends[i] = send
	}
	addr := uintptr(d.mr.Addr())
	for _, call := range []struct {
		name, c string
		at      uintptr
		each    int // requests
		run     func() error
	}{
		{"post_send", "dummy_bench_send", ptr(d.qp.c), 1, func() error { return pair.PostSend(&send) }},
		{"post_send of 32", "dummy_bench_send", ptr(d.qp.c), 32, func() error { _, err := pair.PostSends(sends); return err }},
		{"post_recv", "dummy_bench_recv", ptr(d.qp.c), 1, func() error { return pair.PostRecv(&recv) }},
		{"poll_cq", "dummy_bench_poll", ptr(d.cq.c), 1, func() error { _, err := queue.Poll(wcs); return err }},
		{"req_notify_cq", "dummy_bench_arm", ptr(d.cq.c), 1, func() error { return queue.Arm(false) }},
	} {
		b.Run(call.name, func(b *testing.B) {
			const turns = 8
			n := max(1, b.N/turns)
			inC, inGo := time.Duration(1<<62), time.Duration(1<<62)
			fn := d.symbol(call.c)
			b.ReportAllocs()
			for range turns {
				start := time.Now()
				_, _ = invoke(d.ctx.lib, fn, call.at, uintptr(n*call.each), addr)
				inC = min(inC, time.Since(start))
				start = time.Now()
				for range n {
					if err := call.run(); err != nil {
						b.Fatal(err)
					}
				}
				inGo = min(inGo, time.Since(start))
			}
			per := float64(n * call.each)
			b.ReportMetric(float64(inC)/per, "C-ns/op")
			b.ReportMetric(float64(inGo-inC)/per, "over-C-ns/op")
			b.ReportMetric(float64(inGo)/per, "ns/op")
		})
	}
}

func ExampleProvider() {
	devices, err := (&Provider{Library: "/nowhere/libibverbs.so.1"}).Devices()
	fmt.Println(len(devices), errors.Is(err, verbs.ErrNoDevice))
	// Output: 0 true
}

//go:build linux && amd64

package ibv_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"heddle/verbs"
	"heddle/verbs/ibv"
)

func testDevices(t *testing.T, device string) {
	devices, err := (&ibv.Provider{}).Devices()
	mustDo(t, err)
	names := make(map[string]bool)
	for _, d := range devices {
		names[d.Name()] = true
	}
	if !names[device] {
		t.Fatalf("devices: %v", names)
	}
	c := openDevice(t, device)
	defer c.Close()
	a, caps := c.Attr(), c.Caps()
	t.Logf("%+v", a)
	t.Logf("%+v", caps)
	if a.Ports < 1 || a.MaxQPWR < 64 || a.MaxSGE < 1 || a.MaxInline < 64 || !a.NodeGUID.IsValid() {
		t.Errorf("attributes: %+v", a)
	}
	for _, op := range []verbs.Op{verbs.OpSend, verbs.OpSendImm, verbs.OpWrite, verbs.OpWriteImm, verbs.OpRead, verbs.OpFetchAdd} {
		if !caps.Can(verbs.RC, op) {
			t.Errorf("RC has no %v", op)
		}
	}
	if caps.WriteOrder.Origin == verbs.Assumed || caps.PlacementOrder.Holds {
		t.Errorf("order: %+v", caps)
	}
	port, err := c.Port(1)
	mustDo(t, err)
	t.Logf("%+v", port)
	if port.State != verbs.PortActive || !port.ActiveMTU.IsValid() || port.MaxMessage < 1<<20 {
		t.Errorf("port: %+v", port)
	}
	if _, err := c.Port(9); !errors.Is(err, verbs.ErrNotFound) {
		t.Errorf("port 9: %v", err)
	}
}

// testRC does each operation from one half of a QP pair to the other.
func testRC(t *testing.T, device string) {
	r := newRig(t, device)
	near, _ := r.pair(verbs.QPAttr{SendSGE: 2, Inline: 64})
	far := r.mr.Addr() + 512<<10
	for _, size := range []int{0, 1, 7, 64, 1023, 1025, 4096, 100_000, 400_000} {
		for i := range r.bytes(0, size) {
			r.bytes(0, size)[i] = byte(i*7 + size)
		}
		wc := r.do(near, &verbs.SendWR{Op: verbs.OpWrite, SGEs: []verbs.SGE{r.mr.SGE(0, size/2), r.mr.SGE(size/2, size-size/2)}, RemoteAddr: far, RKey: r.mr.RKey()})
		if wc.Status != verbs.StatusOK || wc.Op != verbs.OpWrite || !bytes.Equal(r.bytes(0, size), r.bytes(512<<10, size)) {
			t.Errorf("WRITE of %d bytes: %+v", size, wc)
		}
		clear(r.bytes(0, size))
		wc = r.do(near, &verbs.SendWR{ID: 7, Op: verbs.OpRead, SGEs: []verbs.SGE{r.mr.SGE(0, size)}, RemoteAddr: far, RKey: r.mr.RKey()})
		if wc.Status != verbs.StatusOK || wc.Op != verbs.OpRead || wc.ID != 7 || !bytes.Equal(r.bytes(0, size), r.bytes(512<<10, size)) {
			t.Errorf("READ of %d bytes: %+v", size, wc)
		}
	}
	testAtomics(t, r, near)
	testSends(t, r)
}

func testAtomics(t *testing.T, r *rig, near verbs.QP) {
	word, result := r.bytes(512<<10, 8), r.bytes(0, 8)
	binary.NativeEndian.PutUint64(word, 40)
	wr := verbs.SendWR{Op: verbs.OpFetchAdd, SGEs: []verbs.SGE{r.mr.SGE(0, 8)}, Swap: 2, RemoteAddr: r.mr.Addr() + 512<<10, RKey: r.mr.RKey()}
	if wc := r.do(near, &wr); wc.Err() != nil || wc.Op != verbs.OpFetchAdd {
		t.Errorf("%+v", wc)
	}
	if was, is := binary.NativeEndian.Uint64(result), binary.NativeEndian.Uint64(word); was != 40 || is != 42 {
		t.Errorf("FETCH_AND_ADD: %d, then %d", was, is)
	}
	wr.Op, wr.Compare, wr.Swap = verbs.OpCompareSwap, 42, 1<<63+5
	if wc := r.do(near, &wr); wc.Err() != nil || wc.Op != verbs.OpCompareSwap {
		t.Errorf("%+v", wc)
	}
	if was, is := binary.NativeEndian.Uint64(result), binary.NativeEndian.Uint64(word); was != 42 || is != 1<<63+5 {
		t.Errorf("COMPARE_AND_SWAP: %d, then %d", was, is)
	}
}

// testSends sends with and without an immediate, inline, and writes with one.
func testSends(t *testing.T, r *rig) {
	near, far := r.pair(verbs.QPAttr{Inline: 64})
	type result struct {
		Op   verbs.Op
		Len  uint32
		Imm  uint32
		Flag verbs.WCFlags
		Data string
	}
	for _, test := range []struct {
		wr   verbs.SendWR
		want result
	}{
		{verbs.SendWR{Op: verbs.OpSend, SGEs: []verbs.SGE{r.mr.SGE(0, 5)}}, result{Op: verbs.OpRecv, Len: 5, Data: "hello"}},
		{verbs.SendWR{Op: verbs.OpSendImm, Imm: 0x01020304, SGEs: []verbs.SGE{r.mr.SGE(0, 5)}}, result{verbs.OpRecv, 5, 0x01020304, verbs.WithImm, "hello"}},
		{verbs.SendWR{Op: verbs.OpSend, Flags: verbs.Inline, InlineData: []byte("inline")}, result{Op: verbs.OpRecv, Len: 6, Data: "inline"}},
		{verbs.SendWR{Op: verbs.OpWriteImm, Imm: 1 << 31, SGEs: []verbs.SGE{r.mr.SGE(0, 4)}, RemoteAddr: r.mr.Addr() + 1000, RKey: r.mr.RKey()}, result{verbs.OpRecvWriteImm, 4, 1 << 31, verbs.WithImm, ""}},
	} {
		copy(r.bytes(0, 5), "hello")
		clear(r.bytes(1000, 100))
		clear(r.bytes(2000, 100))
		r.recv(far, 9, 2000, 100)
		test.wr.Flags |= verbs.Signaled
		mustDo(t, near.PostSend(&test.wr))
		wcs := r.succeed(2)
		wc := of(t, wcs, far)
		got := result{wc.Op, wc.ByteLen, wc.Imm, wc.Flags, string(bytes.TrimRight(r.bytes(2000, 100), "\x00"))}
		if diff := cmp.Diff(test.want, got); diff != "" || wc.ID != 9 {
			t.Errorf("%v (-want +got):\n%s", test.wr.Op, diff)
		}
		if wrote := string(r.bytes(1000, 4)); test.wr.Op == verbs.OpWriteImm && wrote != "hell" {
			t.Errorf("wrote %q", wrote)
		}
	}
	testLists(t, r, near, far)
}

// testLists posts more than fits in one call of the library, and a list with a
// bad request in it (case V3).
func testLists(t *testing.T, r *rig, near, far verbs.QP) {
	const n = 50
	recvs, sends := make([]verbs.RecvWR, n), make([]verbs.SendWR, n)
	for i := range recvs {
		recvs[i] = verbs.RecvWR{ID: uint64(i), SGEs: []verbs.SGE{r.mr.SGE(4096+64*i, 64)}}
		sends[i] = verbs.SendWR{ID: uint64(100 + i), Op: verbs.OpSendImm, Imm: uint32(i), Flags: verbs.Signaled}
	}
	if got, err := far.PostRecvs(recvs); got != n || err != nil {
		t.Fatalf("posted %d receives: %v", got, err)
	}
	sends[40].Op = verbs.OpRecv
	if got, err := near.PostSends(sends); got != 40 || !errors.Is(err, verbs.ErrNotSupported) {
		t.Errorf("posted %d: %v", got, err)
	}
	sends[40].Op = verbs.OpSendImm
	if got, err := near.PostSends(sends[40:]); got != 10 || err != nil {
		t.Errorf("posted %d: %v", got, err)
	}
	next := uint32(0)
	for _, wc := range r.succeed(2 * n) {
		if wc.QPN != far.QPN() {
			continue
		}
		if wc.Imm != next || wc.ID != uint64(next) {
			t.Errorf("message %d has %+v", next, wc)
		}
		next++
	}
}

func testUC(t *testing.T, device string) {
	r := newRig(t, device)
	near, far := r.pair(verbs.QPAttr{Type: verbs.UC})
	copy(r.bytes(0, 5), "hello")
	if wc := r.do(near, &verbs.SendWR{Op: verbs.OpWrite, SGEs: []verbs.SGE{r.mr.SGE(0, 5)}, RemoteAddr: r.mr.Addr() + 100, RKey: r.mr.RKey()}); wc.Err() != nil {
		t.Error(wc.Err())
	}
	r.recv(far, 3, 200, 10)
	mustDo(t, near.PostSend(&verbs.SendWR{Op: verbs.OpSend, Flags: verbs.Signaled, SGEs: []verbs.SGE{r.mr.SGE(0, 5)}}))
	if wc := of(t, r.succeed(2), far); wc.ByteLen != 5 || string(r.bytes(200, 5)) != "hello" || string(r.bytes(100, 5)) != "hello" {
		t.Errorf("%+v, %q %q", wc, r.bytes(200, 5), r.bytes(100, 5))
	}
}

// testWindows binds a window, writes through it, and takes it back.
func testWindows(t *testing.T, device string) {
	r := newRig(t, device)
	caps := r.ctx.Caps()
	allocator, ok := r.pd.(verbs.WindowAllocator)
	if !caps.Windows2 {
		if _, err := allocator.AllocMW(verbs.MWType2); !ok || !errors.Is(err, verbs.ErrNotSupported) {
			t.Errorf("a window of a device without: %v", err)
		}
		return
	}
	mr, err := r.pd.RegisterMR(r.mem, rigAccess|verbs.WindowBind)
	mustDo(t, err)
	r.later(mr.Close)
	mw, err := allocator.AllocMW(verbs.MWType2)
	mustDo(t, err)
	r.later(mw.Close)
	near, far := r.pair(verbs.QPAttr{})
	wc := r.do(far, &verbs.SendWR{Op: verbs.OpBind, MW: mw, BindMR: mr, BindAccess: verbs.RemoteWrite, SGEs: []verbs.SGE{mr.SGE(4096, 64)}})
	if wc.Err() != nil || wc.Op != verbs.OpBind {
		t.Fatalf("bind: %+v", wc)
	}
	copy(r.bytes(0, 5), "hello")
	write := verbs.SendWR{Op: verbs.OpWrite, SGEs: []verbs.SGE{r.mr.SGE(0, 5)}, RemoteAddr: mr.Addr() + 4096, RKey: mw.RKey()}
	if wc := r.do(near, &write); wc.Err() != nil || string(r.bytes(4096, 5)) != "hello" {
		t.Errorf("through the window: %v, %q", wc.Err(), r.bytes(4096, 5))
	}
	if wc := r.do(far, &verbs.SendWR{Op: verbs.OpLocalInv, RKey: mw.RKey()}); wc.Err() != nil {
		t.Errorf("local invalidate: %v", wc.Err())
	}
	if wc := r.do(near, &write); wc.Status != verbs.StatusRemoteAccess {
		t.Errorf("through the window that was taken back: %+v", wc)
	}
}

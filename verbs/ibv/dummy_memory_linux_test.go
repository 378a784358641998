//go:build amd64 || arm64

package ibv

import (
	"errors"
	"os"
	"syscall"
	"testing"

	"heddle/verbs"
)

// TestWindowKeys: each bind of type 2 has a key of its own, of type 1 the one that
// the library gives it.
func TestWindowKeys(t *testing.T) {
	b := newBench(t, verbs.QPAttr{Type: verbs.RC})
	b.connect()
	for _, kind := range []verbs.MWType{verbs.MWType1, verbs.MWType2} {
		window, err := b.pd.AllocMW(kind)
		must(t, err)
		wr := verbs.SendWR{ID: 9, Op: verbs.OpBind, Flags: verbs.Signaled, MW: window, BindMR: b.mr, BindAccess: verbs.RemoteRead, SGEs: []verbs.SGE{b.mr.SGE(8, 16)}}
		info := ibvBindInfo{MR: b.mr.(*mr).c, Addr: b.mr.Addr() + 8, Length: 16, Access: accessRead}
		for i := range uint32(2) {
			must(t, b.qp.PostSend(&wr))
			want, key := ibvMWBind{ID: 9, Flags: sendSignaled, Info: info}, 0x1200+0x100*i
			got := *variable[ibvMWBind](b.dummy, "dummy_bind")
			if kind == verbs.MWType2 {
				key = 0x1101 + i
				sent := variable[ibvSendWR](b.dummy, "dummy_sends")
				got = ibvMWBind{ID: sent.ID, Flags: sent.Flags, Info: sent.Bind.Info}
				if sent.Op != wrBindMW || sent.Bind.MW != window.(*mw).c || sent.Bind.RKey != key {
					t.Errorf("%+v", sent)
				}
			}
			if got != want || window.RKey() != key {
				t.Errorf("%v: %+v, want %+v; key %#x, want %#x", kind, got, want, window.RKey(), key)
			}
		}
		must(t, window.Close())
		if err := b.qp.PostSend(&wr); !errors.Is(err, verbs.ErrClosed) {
			t.Errorf("bind of a closed window: %v", err)
		}
	}
	if _, err := b.pd.AllocMW(3); !errors.Is(err, verbs.ErrNotSupported) {
		t.Errorf("a window of type 3: %v", err)
	}
	b.close()
}

// TestWindowsOfAQP: a window of type 2 is made anew after the end of the QP that it
// was bound through.
func TestWindowsOfAQP(t *testing.T) {
	b := newBench(t, verbs.QPAttr{Type: verbs.RC})
	b.connect()
	window, err := b.pd.AllocMW(verbs.MWType2)
	must(t, err)
	w := window.(*mw)
	wr := verbs.SendWR{Op: verbs.OpBind, MW: window, BindMR: b.mr, SGEs: []verbs.SGE{b.mr.SGE(8, 16)}}
	must(t, b.qp.PostSend(&wr))
	must(t, b.qp.Modify(verbs.Reset))
	if w.c != nil || w.by != nil {
		t.Error("a window is left after Reset of its QP")
	}
	must(t, b.qp.Modify(verbs.Init))
	b.connect()
	must(t, b.qp.PostSend(&wr))
	if sent := variable[ibvSendWR](b.dummy, "dummy_sends"); w.c == nil || sent.Bind.MW != w.c || window.RKey() != 0x1101 {
		t.Errorf("bound anew: %+v, key %#x", sent.Bind, window.RKey())
	}
	other, err := b.pd.AllocMW(verbs.MWType2)
	must(t, err)
	wr.MW = other
	must(t, b.qp.PostSend(&wr))
	must(t, other.Close())
	must(t, b.qp.Close())
	if w.c != nil {
		t.Error("a window is left after Close of its QP")
	}
	must(t, window.Close())
	b.close()
}

// TestBindsInLists: a bind goes by itself, in its place; the index of what was
// refused is right.
func TestBindsInLists(t *testing.T) {
	b := newBench(t, verbs.QPAttr{Type: verbs.RC})
	b.connect()
	window, err := b.pd.AllocMW(verbs.MWType2)
	must(t, err)
	wrs := make([]verbs.SendWR, 70)
	for i := range wrs {
		wrs[i] = verbs.SendWR{ID: uint64(i), Op: verbs.OpWrite, Flags: verbs.Signaled}
	}
	bind := verbs.SendWR{Op: verbs.OpBind, Flags: verbs.Signaled, MW: window, BindMR: b.mr, SGEs: []verbs.SGE{b.mr.SGE(0, 8)}}
	for _, i := range []int{0, 5, 6, 40, 69} {
		bind.ID = uint64(i)
		wrs[i] = bind
	}
	if n, err := b.qp.PostSends(wrs); n != len(wrs) || err != nil {
		t.Fatalf("%d, %v", n, err)
	}
	wcs := make([]verbs.WC, 80)
	if n, err := b.cq.Poll(wcs); n != len(wrs) || err != nil {
		t.Fatalf("%d completions, %v", n, err)
	}
	for i, wc := range wcs[:len(wrs)] {
		if wc.ID != uint64(i) || wc.Op != wrs[i].Op {
			t.Errorf("%d: %+v", i, wc)
		}
	}
	wrs[40].BindMR = nil
	if n, err := b.qp.PostSends(wrs); n != 40 || !errors.Is(err, verbs.ErrInvalid) {
		t.Errorf("%d, %v", n, err)
	}
	wrs[40].BindMR = b.mr
	*variable[int32](b.dummy, "dummy_refuse") = 0
	if n, err := b.qp.PostSends(wrs[40:]); n != 0 || !errors.Is(err, verbs.ErrQueueFull) {
		t.Errorf("%d, %v", n, err)
	}
	must(t, window.Close())
	b.close()
}

// TestBusyMR: an MR that the library does not give back for its windows stays.
func TestBusyMR(t *testing.T) {
	b := newBench(t, verbs.QPAttr{Type: verbs.RC})
	busy := variable[int32](b.dummy, "dummy_busy")
	mr, err := b.pd.RegisterMR(b.mem, verbs.LocalWrite|verbs.WindowBind)
	must(t, err)
	for _, code := range []syscall.Errno{syscall.EINVAL, syscall.EBUSY} {
		*busy = int32(code)
		if err := mr.Close(); !errors.Is(err, verbs.ErrBusy) {
			t.Errorf("%v: %v", code, err)
		}
	}
	*busy = 0
	if err := b.pd.Close(); !errors.Is(err, verbs.ErrBusy) {
		t.Errorf("PD of an MR that is busy: %v", err)
	}
	must(t, errors.Join(mr.Close(), mr.Close()))
	b.close()
}

// TestDeviceMemory is alloc_dm and what belongs to it.
func TestDeviceMemory(t *testing.T) {
	b := newBench(t, verbs.QPAttr{Type: verbs.RC})
	for size, want := range map[int]error{0: verbs.ErrInvalid, 4097: verbs.ErrInvalid, 3000: syscall.ENOMEM} {
		if _, err := b.pd.AllocDM(size); !errors.Is(err, want) {
			t.Errorf("%d bytes: %v, want %v", size, err, want)
		}
	}
	mem, err := b.pd.AllocDM(100)
	must(t, err)
	mr, err := b.pd.RegisterMR(mem, verbs.LocalWrite|verbs.RemoteRead)
	must(t, err)
	if access := *variable[int32](b.dummy, "dummy_access"); access != accessLocal|accessRead|accessZeroBased {
		t.Errorf("access %#x", access)
	}
	if mr.Addr() != 0 || mr.Len() != 100 || mr.SGE(8, 16) != (verbs.SGE{Addr: 8, Length: 16, LKey: 0x11}) {
		t.Errorf("%d bytes at %#x, %+v", mr.Len(), mr.Addr(), mr.SGE(8, 16))
	}
	got := make([]byte, 5)
	_, err = mem.WriteAt([]byte("hello"), 95)
	must(t, err)
	if n, err := mem.ReadAt(got, 95); n != 5 || err != nil || string(got) != "hello" {
		t.Errorf("%d, %v, %q", n, err, got)
	}
	if _, err := mem.WriteAt(got, 96); !errors.Is(err, verbs.ErrInvalid) {
		t.Errorf("over the end: %v", err)
	}
	if err := mem.Close(); !errors.Is(err, verbs.ErrBusy) {
		t.Errorf("close with an MR: %v", err)
	}
	must(t, errors.Join(mr.Close(), mem.Close(), mem.Close()))
	if _, err := mem.ReadAt(got, 0); !errors.Is(err, verbs.ErrClosed) {
		t.Errorf("read after close: %v", err)
	}
	if _, err := b.pd.RegisterMR(mem, 0); !errors.Is(err, verbs.ErrInvalid) {
		t.Errorf("register after close: %v", err)
	}
	b.close()
}

// TestDMABuf is what the library is told of one.
func TestDMABuf(t *testing.T) {
	b := newBench(t, verbs.QPAttr{Type: verbs.RC})
	file, err := os.Open("/dev/null")
	must(t, err)
	mem, err := verbs.UseDMABuf(file, 8192, 4096)
	must(t, err)
	mr, err := b.pd.RegisterMR(mem, verbs.LocalWrite|verbs.RemoteWrite)
	must(t, err)
	if got := *variable[[4]uint64](b.dummy, "dummy_dmabuf"); [3]uint64(got[:3]) != [3]uint64{8192, 4096, 8192} || got[3] < 3 {
		t.Errorf("%v", got)
	}
	if access := *variable[int32](b.dummy, "dummy_access"); access != accessLocal|accessWrite || mr.Addr() != 8192 || mr.Len() != 4096 {
		t.Errorf("access %#x, %d bytes at %#x", access, mr.Len(), mr.Addr())
	}
	must(t, errors.Join(mr.Close(), mem.Close(), file.Close()))
	if _, err := b.pd.RegisterMR(mem, 0); !errors.Is(err, verbs.ErrInvalid) {
		t.Errorf("a closed file: %v", err)
	}
	other := verbs.NewDeviceMemory(64, nil)
	if _, err := b.pd.RegisterMR(other, 0); !errors.Is(err, verbs.ErrNotSupported) {
		t.Errorf("memory of another kind of device: %v", err)
	}
	b.close()
}

// TestBlockLoopback: the flag goes along with whatever else a QP is made with.
func TestBlockLoopback(t *testing.T) {
	b := newBench(t, verbs.QPAttr{Type: verbs.UD, BlockLoopback: true, Inline: 100, QKey: 1})
	if flags := *variable[int32](b.dummy, "dummy_flags"); flags != qpBlockLoopback || b.qp.Attr().Inline != 100 {
		t.Errorf("flags %#x, %d inline bytes", flags, b.qp.Attr().Inline)
	}
	b.close()
}

// TestOlderLibraries have nothing before the context, or not all.
func TestOlderLibraries(t *testing.T) {
	for flag, blocks := range map[string]bool{"-DOLD": false, "-DSHORT": true} {
		d := newDummy(t, userSpaceDriver, flag)
		c := d.open()
		caps := c.Caps()
		if caps.DeviceMemory || caps.BlockLoopback != blocks || !caps.Windows2 || c.Attr().MaxDM != 0 {
			t.Errorf("%s: %+v", flag, caps)
		}
		p, err := c.AllocPD()
		must(t, err)
		if _, err := p.(*pd).AllocDM(64); !errors.Is(err, verbs.ErrNotSupported) {
			t.Errorf("%s: device memory: %v", flag, err)
		}
		must(t, errors.Join(p.Close(), c.Close()))
	}
}

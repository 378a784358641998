package sim_test

import (
	"bytes"
	"errors"
	"testing"

	"pgregory.net/rapid"

	"heddle/verbs"
	"heddle/verbs/sim"
)

// openWindow binds a window to all of a side's memory.
func openWindow(s *side, t verbs.MWType) (mr verbs.MR, mw verbs.MW) {
	s.t.Helper()
	mr = get[verbs.MR](s.t)(s.pd.RegisterMR(s.mem, verbs.LocalWrite|verbs.WindowBind))
	mw = get[verbs.MW](s.t)(s.pd.(verbs.WindowAllocator).AllocMW(t))
	s.post(verbs.SendWR{Op: verbs.OpBind, Flags: verbs.Signaled, MW: mw, BindMR: mr, SGEs: []verbs.SGE{mr.SGE(0, mr.Len())}, BindAccess: verbs.RemoteRead | verbs.RemoteWrite})
	if wc := s.ok(); wc.Op != verbs.OpBind {
		s.t.Errorf("%+v", wc)
	}
	return mr, mw
}

// TestRevocation: when a window's OpLocalInv is done, or its Close, no byte of
// what is under way comes to memory any more.
func TestRevocation(t *testing.T) {
	for _, p := range sim.Profiles() {
		if !p.Windows2 {
			continue
		}
		t.Run(p.Name, func(t *testing.T) { rapid.Check(t, func(r *rapid.T) { revokeOnce(t, r, p) }) })
	}
}

func revokeOnce(t *testing.T, r *rapid.T, p sim.Profile) {
	n, err := sim.New(sim.Config{Profile: p, Seed: rapid.Uint64().Draw(r, "seed"), Faults: sim.Faults{Loss: 0.02, Duplicate: 0.05}})
	must(t, err)
	defer n.Close() //nolint:errcheck // of a test
	x, y := newSide(t, n, "x"), newSide(t, n, "y")
	x.create(verbs.QPAttr{})
	y.create(verbs.QPAttr{})
	join(t, x, y)
	mr, mw := openWindow(y, verbs.MWType2)
	fill(x.mem.Bytes(), 1)
	for id := range uint64(3) {
		x.post(verbs.SendWR{ID: id, Op: verbs.OpWrite, Flags: verbs.Signaled, SGEs: []verbs.SGE{x.mr.SGE(0, 20000)}, RemoteAddr: mr.Addr() + id*20000, RKey: mw.RKey()})
	}
	for range rapid.IntRange(0, 200).Draw(r, "steps") {
		n.Step()
	}
	if rapid.Bool().Draw(r, "close") {
		must(t, mw.Close())
	} else {
		y.post(verbs.SendWR{Op: verbs.OpLocalInv, Flags: verbs.Signaled, RKey: mw.RKey()})
		if wc := y.completions(1)[0]; wc.Status != verbs.StatusOK && wc.Status != verbs.StatusFlushed {
			r.Fatalf("%+v", wc)
		}
	}
	before := bytes.Clone(y.mem.Bytes())
	n.Settle(100000)
	if !bytes.Equal(before, y.mem.Bytes()) {
		r.Fatal("bytes came after the window was taken back")
	}
	must(t, errors.Join(mw.Close(), mr.Close()))
}

// TestWindowsOfAQP: those of type 2 end with it, or when it is reset, those of
// type 1 do not.
func TestWindowsOfAQP(t *testing.T) {
	for kind, want := range map[verbs.MWType]error{verbs.MWType1: verbs.ErrBusy, verbs.MWType2: nil} {
		for name, end := range map[string]func(s *side) error{
			"reset": func(s *side) error { return s.qp.Modify(verbs.Reset) },
			"close": func(s *side) error { return s.qp.Close() },
		} {
			_, y := pair(t, network(t, sim.Config{}), verbs.QPAttr{})
			mr, mw := openWindow(y, kind)
			if err := mr.Close(); !errors.Is(err, verbs.ErrBusy) {
				t.Errorf("%v, %s: close an MR with a window: %v", kind, name, err)
			}
			must(t, end(y))
			if err := mr.Close(); !errors.Is(err, want) {
				t.Errorf("%v, %s: close the MR after that: %v, want %v", kind, name, err, want)
			}
			must(t, errors.Join(mw.Close(), mr.Close()))
		}
	}
}

// TestWindowOfUC: unreliable connections have windows as well, and a bind that
// fails ends the send queue only.
func TestWindowOfUC(t *testing.T) {
	n := network(t, sim.Config{})
	x, y := pair(t, n, verbs.QPAttr{Type: verbs.UC})
	mr, mw := openWindow(y, verbs.MWType2)
	copy(x.mem.Bytes(), "hello")
	x.post(verbs.SendWR{Op: verbs.OpWrite, Flags: verbs.Signaled, SGEs: []verbs.SGE{x.mr.SGE(0, 5)}, RemoteAddr: mr.Addr() + 100, RKey: mw.RKey()})
	x.ok()
	n.Settle(1000)
	if got := string(y.mem.Bytes()[100:105]); got != "hello" {
		t.Errorf("%q", got)
	}
	y.post(verbs.SendWR{Op: verbs.OpBind, MW: mw, BindMR: mr, SGEs: []verbs.SGE{mr.SGE(0, 8)}})
	if _, got := y.statuses(1); got[0] != verbs.StatusBind {
		t.Errorf("a bind of a window that is bound: %v", got)
	}
	y.expect(verbs.SQE)
	must(t, errors.Join(mw.Close(), mr.Close()))
}

// TestDeviceMemoryIsCounted: what was given back can be had again.
func TestDeviceMemoryIsCounted(t *testing.T) {
	s := newSide(t, network(t, sim.Config{}), "x")
	all := s.ctx.Attr().MaxDM
	alloc := s.pd.(verbs.DeviceMemoryAllocator)
	for range 2 {
		first := get[*verbs.Memory](t)(alloc.AllocDM(all - 1))
		if _, err := alloc.AllocDM(2); !errors.Is(err, verbs.ErrInvalid) {
			t.Errorf("more than there is: %v", err)
		}
		last := get[*verbs.Memory](t)(alloc.AllocDM(1))
		if err := s.pd.Close(); !errors.Is(err, verbs.ErrBusy) {
			t.Errorf("close the PD: %v", err)
		}
		must(t, errors.Join(first.Close(), last.Close()))
	}
	other := newSide(t, network(t, sim.Config{}), "x")
	mem := get[*verbs.Memory](t)(other.pd.(verbs.DeviceMemoryAllocator).AllocDM(64))
	if _, err := s.pd.RegisterMR(mem, 0); !errors.Is(err, verbs.ErrInvalid) {
		t.Errorf("memory of another device: %v", err)
	}
	must(t, mem.Close())
}

package verbstest

import (
	"errors"

	"heddle/verbs"
)

// bindsOther makes a fault that changes each OpBind.
func bindsOther(change func(*world, *verbs.SendWR)) fault {
	return post(func(w *world, wr *verbs.SendWR) {
		if wr.Op == verbs.OpBind {
			change(w, wr)
		}
	})
}

// wholeMR binds all of an MR.
func wholeMR(_ *world, wr *verbs.SendWR) {
	wr.SGEs = []verbs.SGE{wr.BindMR.SGE(0, wr.BindMR.Len())}
}

func brokenWindows() []mutant {
	adds := func(rights verbs.Access) fault {
		return fault{access: func(a verbs.Access) verbs.Access { return a | rights }}
	}
	return []mutant{
		{name: "opens all of an MR", fault: bindsOther(wholeMR), tests: must("WindowBounds", "WindowFaults", "WindowWraps", "Window1Bounds", "Window1Rebound")},
		{name: "opens too little", fault: bindsOther(func(_ *world, wr *verbs.SendWR) { wr.SGEs[0].Length -= min(8, wr.SGEs[0].Length) }), tests: must("Windows")},
		{name: "opens another place", fault: bindsOther(func(_ *world, wr *verbs.SendWR) { wr.SGEs[0].Addr += 8 }), tests: must("Windows", "WindowBounds")},
		{name: "opens windows for all", fault: bindsOther(func(_ *world, wr *verbs.SendWR) {
			wr.BindAccess = verbs.RemoteRead | verbs.RemoteWrite | verbs.RemoteAtomic
		}), tests: must("WindowRights")},
		{name: "opens windows for READ only", fault: bindsOther(func(_ *world, wr *verbs.SendWR) { wr.BindAccess = verbs.RemoteRead }), tests: must("Windows", "WindowOrder")},
		{name: "opens windows whatever the QP allows", fault: fault{qp: func(a *verbs.QPAttr) { a.Access = 0 }}, tests: must("WindowRights")},
		{name: "never takes a window back", fault: fault{send: keepOpen, poll: keptOpen}, tests: must("WindowEnds", "WindowInvalidate", "WindowBusy")},
		{name: "takes any key back", fault: status(verbs.StatusBind, verbs.StatusOK), tests: must("WindowInvalidate", "WindowInvalidateQP", "WindowFaults", "WindowWraps", "Window1Shared")},
		{name: "takes windows of type 2 for type 1", fault: fault{mwType: func(verbs.MWType) verbs.MWType { return verbs.MWType1 }}, tests: must("WindowQP", "WindowFaults", "WindowEnds")},
		{name: "takes windows of type 1 for type 2", fault: fault{mwType: func(verbs.MWType) verbs.MWType { return verbs.MWType2 }}, tests: must("Window1Shared", "Window1Rebound")},
		{name: "binds to any MR", fault: adds(verbs.WindowBind), tests: must("WindowFaults")},
		{name: "lets peers write to any MR", fault: adds(verbs.LocalWrite), tests: must("WindowFaults")},
		{name: "binds across protection domains", fault: fault{send: func(q *brokenQP, wr *verbs.SendWR) error {
			err := q.QP.PostSend(wr)
			if wr.Op == verbs.OpBind && errors.Is(err, verbs.ErrInvalid) {
				return nil
			}
			return err
		}}, tests: must("WindowPosts")},
		{name: "tells the key of before", fault: fault{mw: func(mw verbs.MW) verbs.MW { return staleKey{mw, mw.RKey()} }}, tests: must("Windows", "WindowOrder", "Window1Rebound")},
		{name: "leaves closed windows open", fault: fault{mw: func(mw verbs.MW) verbs.MW { return &openWindow{MW: mw} }}, tests: must("WindowEnds", "WindowBusy")},
		{name: "closes MRs under their windows", fault: fault{mr: func(mr verbs.MR) verbs.MR { return neverBusy{mr} }}, tests: must("WindowBusy", "Window1Rebound")},
		{name: "binds later", fault: fault{send: func(q *brokenQP, wr *verbs.SendWR) error {
			if wr.Op != verbs.OpBind {
				return q.QP.PostSend(wr)
			}
			later := *wr
			q.held = append(q.held, &later)
			return nil
		}}, tests: must("WindowOrder")},
	}
}

// keepOpen does nothing in place of OpLocalInv, of which keptOpen tells as if it
// had been done.
func keepOpen(q *brokenQP, wr *verbs.SendWR) error {
	if wr.Op == verbs.OpLocalInv {
		nothing := *wr
		nothing.Op = verbs.OpWrite
		return q.QP.PostSend(&nothing)
	}
	return q.QP.PostSend(wr)
}

func keptOpen(_ *brokenCQ, into []verbs.WC, n int, err error) (int, error) {
	for i := range into[:n] {
		if into[i].Op == verbs.OpWrite && into[i].ID == invalidateID {
			into[i].Op = verbs.OpLocalInv
		}
	}
	return n, err
}

// staleKey is a window that tells the key that it began with.
type staleKey struct {
	verbs.MW
	key uint32
}

func (w staleKey) inner() verbs.MW { return w.MW }
func (w staleKey) RKey() uint32    { return w.key }

// openWindow is closed when it is closed again.
type openWindow struct {
	verbs.MW
	times int
}

func (w *openWindow) inner() verbs.MW { return w.MW }

func (w *openWindow) Close() error {
	if w.times++; w.times == 1 {
		return nil
	}
	return w.MW.Close()
}

// neverBusy is an MR that says that it was closed when it was not.
type neverBusy struct{ verbs.MR }

func (m neverBusy) inner() verbs.MR { return m.MR }

func (m neverBusy) Close() error {
	if err := m.MR.Close(); !errors.Is(err, verbs.ErrBusy) {
		return err
	}
	return nil
}

func brokenDeviceMemory() []mutant {
	source := func(wr *verbs.SendWR) uint64 { return wr.SGEs[0].Addr }
	return []mutant{
		{name: "flips a byte that was read of device memory", fault: spoils(verbs.OpRead, source), tests: must("DeviceMemory", "DeviceMemoryCopies")},
		{name: "gives another old value of device memory", fault: spoils(verbs.OpFetchAdd, source), tests: must("DeviceMemoryAtomics")},
		{name: "has less device memory", fault: fault{dmSize: func(n int) int { return min(n, 32) }}, tests: must("DeviceMemory", "DeviceMemoryBounds")},
		{name: "has more device memory", fault: fault{
			dmSize: func(n int) int { return n + 64 },
			dm:     func(s verbs.Storage) verbs.Storage { return s },
		}, tests: must("DeviceMemory", "DeviceMemoryBounds")},
		{name: "does not copy to device memory", fault: storing(func(verbs.Storage, []byte, int64) error { return nil }), tests: must("DeviceMemoryCopies", "DeviceMemoryAtomics", "DeviceMemoryBounds")},
		{name: "copies to another place", fault: storing(func(s verbs.Storage, p []byte, off int64) error {
			_, err := s.WriteAt(p, max(off-8, 0))
			return err
		}), tests: must("DeviceMemoryCopies", "DeviceMemoryAtomics")},
		{name: "closes device memory under its MRs", fault: fault{dm: func(s verbs.Storage) verbs.Storage { return hastyStorage{s} }}, tests: must("DeviceMemoryBusy")},
	}
}

// storing makes a fault of what WriteAt does.
func storing(write func(s verbs.Storage, p []byte, off int64) error) fault {
	return fault{dm: func(s verbs.Storage) verbs.Storage { return otherStorage{s, write} }}
}

type otherStorage struct {
	verbs.Storage
	write func(s verbs.Storage, p []byte, off int64) error
}

func (s otherStorage) WriteAt(p []byte, off int64) (int, error) {
	return len(p), s.write(s.Storage, p, off)
}

// hastyStorage says that it was closed when it was not.
type hastyStorage struct{ verbs.Storage }

func (s hastyStorage) Close() error {
	if err := s.Storage.Close(); !errors.Is(err, verbs.ErrBusy) {
		return err
	}
	return nil
}

package verbstest

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"heddle/verbs"
)

// window is a memory window of one end.
type window struct {
	verbs.MW
	q *end
}

// window makes one. It is closed before the QP that bound it.
func (q *end) window(t verbs.MWType) *window {
	q.e.Helper()
	return q.windowOf(q.pd, t)
}

func (q *end) windowOf(pd verbs.PD, t verbs.MWType) *window {
	q.e.Helper()
	alloc, ok := pd.(verbs.WindowAllocator)
	if !ok {
		q.e.Fatal("Caps have windows, the PD is no WindowAllocator")
	}
	mw, err := alloc.AllocMW(t)
	q.e.must(fmt.Sprintf("window of %v", t), err)
	q.e.closing(rankWindow, q.name+" window", mw.Close)
	return &window{mw, q}
}

// request is what binds it.
func (w *window) request(mr *region, offset, n int, access verbs.Access) verbs.SendWR {
	return verbs.SendWR{ID: 11, Op: verbs.OpBind, SGEs: []verbs.SGE{mr.SGE(offset, n)}, MW: w.MW, BindMR: mr.MR, BindAccess: access}
}

func (w *window) bind(mr *region, offset, n int, access verbs.Access) {
	w.q.e.Helper()
	w.q.do(w.request(mr, offset, n, access))
}

// invalidateID is the number of each OpLocalInv.
const invalidateID = 12

// invalidate takes a key back.
func (q *end) invalidate(key uint32) {
	q.e.Helper()
	q.do(verbs.SendWR{ID: invalidateID, Op: verbs.OpLocalInv, RKey: key})
}

// Where windows are bound in an MR.
const (
	windowAt   = 512
	windowSize = 64
)

// opening is a pair, with a window of b to its memory.
type opening struct {
	*rig
	w *window
}

// opening binds a window of a type for all that peers may do.
func (e *env) opening(t verbs.MWType) *opening {
	e.Helper()
	a, b := e.pair(verbs.RC)
	o := e.openingOf(a, b, t)
	o.w.bind(o.mb, windowAt, windowSize, e.remoteRights())
	return o
}

// openingOf leaves the window unbound. The MR has no remote rights: those of a
// window are its own.
func (e *env) openingOf(a, b *end, t verbs.MWType) *opening {
	e.Helper()
	r := &rig{e: e, a: a, b: b, ma: a.memory(4096), mb: b.region(4096, verbs.LocalWrite|verbs.WindowBind)}
	r.ma.store(0, e.noise(4096))
	r.mb.store(0, e.noise(4096))
	return &opening{r, b.window(t)}
}

// remoteRights are those that the device has operations for.
func (e *env) remoteRights() (rights verbs.Access) {
	for _, op := range e.through() {
		rights |= right(op)
	}
	return rights
}

// through are the operations that a peer can do through a window.
func (e *env) through() (list []verbs.Op) {
	for _, op := range []verbs.Op{verbs.OpWrite, verbs.OpWriteImm, verbs.OpRead, verbs.OpFetchAdd, verbs.OpCompareSwap} {
		if e.near.caps.Can(verbs.RC, op) {
			list = append(list, op)
		}
	}
	return list
}

// at is a request of 8 bytes to an offset of b's memory, by the window's key.
func (o *opening) at(op verbs.Op, offset int) verbs.SendWR {
	wr := verbs.SendWR{ID: 21, Op: op, SGEs: []verbs.SGE{o.ma.SGE(0, 8)}, RemoteAddr: o.mb.addr(offset), RKey: o.w.RKey()}
	if op == verbs.OpCompareSwap {
		wr.Compare = o.mb.word(offset)
	}
	wr.Swap = 7
	return wr
}

// lets has a WRITE of 8 bytes come to a place, by a key.
func (o *opening) lets(what string, q *end, key uint32, offset int) {
	o.e.Helper()
	data := o.e.noise(8)
	from := q.memory(64)
	from.store(0, data)
	q.do(verbs.SendWR{ID: 22, Op: verbs.OpWrite, SGEs: []verbs.SGE{from.SGE(0, 8)}, RemoteAddr: o.mb.addr(offset), RKey: key})
	if !o.mb.equal(offset, data) {
		o.e.Errorf("%s: a WRITE did not come", what)
	}
}

// refuses has a request fail, with memory as it was.
func (o *opening) refuses(what string, q *end, wr verbs.SendWR) {
	o.e.Helper()
	before, mine := o.mb.load(0, 4096), o.ma.load(0, 4096)
	if wr.Op == verbs.OpWriteImm {
		o.b.recv(1)
	}
	wr.Flags = verbs.Signaled // should it be done
	q.post(wr)
	if wc := q.sends.next(); wc.ID != wr.ID || !o.e.allowed(wc.Status, []verbs.Status{verbs.StatusRemoteAccess}) {
		o.e.Errorf("%s: number %d: %v, want number %d: %v", what, wc.ID, wc.Status, wr.ID, verbs.StatusRemoteAccess)
	}
	q.is(verbs.Err)
	if !o.mb.equal(0, before) || !o.ma.equal(0, mine) {
		o.e.Errorf("%s: memory was changed", what)
	}
}

// windowOperations does each operation through a window, at its first and its
// last bytes; of b's memory it changes these only.
func windowOperations(e *env) {
	o := e.opening(verbs.MWType2)
	for _, op := range e.through() {
		for _, offset := range []int{windowAt, windowAt + windowSize - 8} {
			want, wr := o.mb.load(0, 4096), o.at(op, offset)
			switch mine := o.ma.load(0, 8); {
			case op.Atomic():
				old := binary.NativeEndian.Uint64(want[offset:])
				binary.NativeEndian.PutUint64(want[offset:], map[bool]uint64{true: old + 7, false: 7}[op == verbs.OpFetchAdd])
			case op != verbs.OpRead:
				copy(want[offset:], mine)
			}
			if op == verbs.OpWriteImm {
				o.b.recv(3)
			}
			brings := o.mb.load(offset, 8)
			o.a.do(wr)
			if op == verbs.OpWriteImm {
				o.b.recvs.ok(3, verbs.OpRecvWriteImm)
			}
			if !o.mb.equal(0, want) || op.Reads() && !o.ma.equal(0, brings) {
				e.Errorf("%v at %d through a window did something else", op, offset)
			}
			o.ma.store(0, e.noise(8))
		}
	}
}

// windowBounds has requests go beyond the window, into the rest of its MR.
func windowBounds(t verbs.MWType) func(*env) {
	return func(e *env) { e.windowBounds(t) }
}

func (e *env) windowBounds(t verbs.MWType) {
	for _, op := range e.through() {
		for name, offset := range map[string]int{
			"before": windowAt - 8, "over the begin": windowAt - 4, "over the end": windowAt + windowSize - 4, "behind": windowAt + windowSize,
		} {
			if op.Atomic() && offset%8 != 0 {
				continue // that is unaligned first
			}
			o := e.opening(t)
			o.refuses(fmt.Sprintf("%v, %s", op, name), o.a, o.at(op, offset))
		}
	}
}

// windowRights has each operation meet a window that allows all others.
func windowRights(e *env) {
	for _, op := range e.through() {
		a, b := e.pair(verbs.RC)
		o := e.openingOf(a, b, verbs.MWType2)
		o.w.bind(o.mb, windowAt, windowSize, e.remoteRights()&^right(op))
		o.refuses(fmt.Sprintf("%v without the right", op), a, o.at(op, windowAt))
	}
	a, b := e.pair(verbs.RC)
	c := e.near.qp(verbs.RC)
	d := e.far.qp(verbs.RC, func(q *verbs.QPAttr) { q.Access = verbs.NoAccess })
	e.connect(c, d)
	o := e.openingOf(a, b, verbs.MWType2)
	o.w.q = d
	o.w.bind(o.mb, windowAt, windowSize, e.remoteRights())
	wr := o.at(verbs.OpWrite, windowAt)
	wr.Flags = verbs.Signaled
	c.post(wr)
	c.sends.fails(wr.ID, verbs.StatusRemoteAccess, verbs.StatusRemoteInvalidRequest)
}

// windowEnds has keys end: of a window that was not bound yet, was taken back, was
// bound anew, or closed.
func windowEnds(e *env) {
	for name, end := range map[string]func(o *opening){
		"taken back": func(o *opening) { o.b.invalidate(o.w.RKey()) },
		"closed":     func(o *opening) { e.must("close window", o.w.Close()) },
		"bound anew": func(o *opening) {
			o.b.invalidate(o.w.RKey())
			o.w.bind(o.mb, windowAt, windowSize, e.remoteRights())
			o.lets("bound anew", o.a, o.w.RKey(), windowAt)
		},
		"bound elsewhere": func(o *opening) {
			o.b.invalidate(o.w.RKey())
			other := o.b.region(4096, verbs.LocalWrite|verbs.WindowBind)
			o.w.bind(other, 0, 4096, e.remoteRights())
		},
	} {
		o := e.opening(verbs.MWType2)
		wr := o.at(verbs.OpWrite, windowAt)
		o.lets("bound", o.a, wr.RKey, windowAt)
		end(o)
		o.refuses(name, o.a, wr)
	}
	a, b := e.pair(verbs.RC)
	o := e.openingOf(a, b, verbs.MWType2)
	o.refuses("never bound", a, o.at(verbs.OpWrite, windowAt))
}

// windowOfOneQP has a peer of another QP use a window of type 2, which is of the
// first one's all the same.
func windowOfOneQP(e *env) {
	c, _ := e.pair(verbs.RC)
	o := e.opening(verbs.MWType2)
	wr := o.at(verbs.OpWrite, windowAt)
	o.refuses("through another QP", c, wr)
	o.lets("through its own QP", o.a, wr.RKey, windowAt)
}

// windowPosts are binds that are refused when they are posted.
func windowPosts(e *env) {
	o := e.opening(verbs.MWType2)
	other := o.b.newPD()
	free := o.b.window(verbs.MWType2)
	for name, wr := range map[string]verbs.SendWR{
		"an MR of another PD":    free.request(o.b.regionOf(other, 4096, verbs.LocalWrite|verbs.WindowBind), 0, 64, verbs.RemoteRead),
		"a window of another PD": o.b.windowOf(other, verbs.MWType2).request(o.mb, 0, 64, verbs.RemoteRead),
		"local rights":           free.request(o.mb, 0, 64, verbs.LocalWrite|verbs.RemoteRead),
	} {
		e.wants("bind "+name, o.b.qp.PostSend(&wr), verbs.ErrInvalid)
	}
	o.lets("after binds that were refused", o.a, o.w.RKey(), windowAt)
}

// windowFaults are binds that fail when it is their turn, and their QP with them.
func windowFaults(e *env) {
	const full = verbs.LocalWrite | verbs.WindowBind
	for _, test := range []struct {
		name   string
		access verbs.Access // of the MR
		rights verbs.Access
		change func(o *opening, wr *verbs.SendWR)
	}{
		{name: "to an MR without WindowBind", access: everything},
		{name: "for WRITE to an MR without LocalWrite", access: verbs.RemoteRead | verbs.WindowBind, rights: verbs.RemoteWrite},
		{name: "for atomics to an MR without LocalWrite", access: verbs.RemoteRead | verbs.WindowBind, rights: verbs.RemoteAtomic},
		{name: "over the end", access: full, change: func(o *opening, wr *verbs.SendWR) { wr.SGEs[0].Addr = o.mb.addr(o.mb.Len() - 8) }},
		{name: "before the begin", access: full, change: func(o *opening, wr *verbs.SendWR) { wr.SGEs[0].Addr = o.mb.addr(0) - 8 }},
		{name: "of nothing", access: full, change: func(_ *opening, wr *verbs.SendWR) { wr.SGEs[0].Length = 0 }},
		{name: "of a window that is bound", access: full, change: func(o *opening, wr *verbs.SendWR) { o.w.bind(o.mb, 0, 64, verbs.RemoteRead) }},
	} {
		a, b := e.pair(verbs.RC)
		o := &opening{&rig{e: e, a: a, b: b, ma: a.memory(4096), mb: b.region(4096, test.access)}, b.window(verbs.MWType2)}
		wr := o.w.request(o.mb, windowAt, windowSize, max(test.rights, verbs.RemoteRead))
		if test.change != nil {
			test.change(o, &wr)
		}
		e.failsLocally("bind "+test.name, b, wr)
	}
}

// windowWraps binds what wraps 2^64.
func windowWraps(e *env) {
	a, b := e.pair(verbs.RC)
	o := e.openingOf(a, b, verbs.MWType2)
	wr := o.w.request(o.mb, windowAt, windowSize, verbs.RemoteRead)
	wr.SGEs[0].Addr = math.MaxUint64 - 7
	e.failsLocally("bind that wraps 2^64", b, wr)
}

// failsLocally has a request fail that no peer sees.
func (e *env) failsLocally(what string, q *end, wr verbs.SendWR) {
	e.Helper()
	wr.Flags = verbs.Signaled // should it be done
	q.post(wr)
	switch wc := q.sends.next(); wc.Status { // devices differ in what they call it
	case verbs.StatusBind, verbs.StatusLocalQPOperation, verbs.StatusLocalProtection, verbs.StatusLocalAccess:
		if wc.ID != wr.ID {
			e.Errorf("%s: number %d, want %d", what, wc.ID, wr.ID)
		}
	default:
		e.Errorf("%s: number %d: %v, want number %d: %v", what, wc.ID, wc.Status, wr.ID, verbs.StatusBind)
	}
	q.is(verbs.Err)
}

// foreignInvalidate takes back the window that another QP bound.
func foreignInvalidate(e *env) {
	o := e.opening(verbs.MWType2)
	_, d := e.pair(verbs.RC)
	e.failsLocally("take a window of another QP back", d, verbs.SendWR{ID: invalidateID, Op: verbs.OpLocalInv, RKey: o.w.RKey()})
	o.lets("a window that another QP tried to take back", o.a, o.w.RKey(), windowAt)
}

// wrongInvalidate takes back what is no window of type 2.
func wrongInvalidate(e *env) {
	o := e.opening(verbs.MWType2)
	_, d := e.pair(verbs.RC)
	e.failsLocally("take an MR back", d, verbs.SendWR{ID: invalidateID, Op: verbs.OpLocalInv, RKey: o.mb.RKey()})
	e.failsLocally("take a wrong key back", o.b, verbs.SendWR{ID: invalidateID, Op: verbs.OpLocalInv, RKey: o.w.RKey() + 1})
}

// windowBusy closes MRs with windows.
func windowBusy(e *env) {
	o := e.opening(verbs.MWType2)
	other := o.b.window(verbs.MWType2)
	other.bind(o.mb, 0, 64, verbs.RemoteRead)
	e.wants("close an MR with two windows", o.mb.Close(), verbs.ErrBusy)
	e.must("close a window", other.Close())
	e.wants("close an MR with a window", o.mb.Close(), verbs.ErrBusy)
	o.lets("a window of an MR that is busy", o.a, o.w.RKey(), windowAt)
	wr := o.at(verbs.OpWrite, windowAt)
	o.b.invalidate(wr.RKey)
	for range 2 {
		e.must("close an MR without windows", o.mb.Close())
	}
	pd := o.b.newPD()
	w := o.b.windowOf(pd, verbs.MWType2)
	e.wants("close a PD with a window", pd.Close(), verbs.ErrBusy)
	for range 2 {
		e.must("close window", w.Close())
		e.must("close PD", pd.Close())
	}
}

// windowOrder tells the peer of a window before its bind has completed.
func windowOrder(e *env) {
	a, b := e.pair(verbs.RC)
	o := e.openingOf(a, b, verbs.MWType2)
	word := b.memory(64)
	for range max(e.suite.Rounds/10, 4) {
		a.recv(5, o.ma.SGE(64, 8))
		bind := o.w.request(o.mb, windowAt, windowSize, e.remoteRights())
		b.post(bind)
		word.setWord(0, uint64(o.w.RKey()))
		b.post(verbs.SendWR{ID: 13, Op: verbs.OpSend, Flags: verbs.Signaled, SGEs: []verbs.SGE{word.SGE(0, 8)}})
		a.recvs.ok(5, verbs.OpRecv)
		o.lets("told of before", a, uint32(binary.NativeEndian.Uint64(o.ma.load(64, 8))), windowAt)
		b.sends.ok(13, verbs.OpSend)
		b.invalidate(o.w.RKey())
	}
}

// windowShared has peers of several QPs use a window of type 1.
func windowShared(e *env) {
	c, _ := e.pair(verbs.RC)
	o := e.opening(verbs.MWType1)
	for _, q := range []*end{o.a, c} {
		o.lets("through each QP", q, o.w.RKey(), windowAt)
	}
	e.otherPD(o)
	_, b := e.pair(verbs.RC)
	e.failsLocally("take a window of type 1 back", b, verbs.SendWR{ID: invalidateID, Op: verbs.OpLocalInv, RKey: o.w.RKey()})
}

// otherPD has a peer use a window through a QP of another PD.
func (e *env) otherPD(o *opening) {
	e.Helper()
	stranger := *e.far
	stranger.pd = e.far.newPD()
	a, b := e.near.qp(verbs.RC), stranger.qp(verbs.RC)
	e.connect(a, b)
	o.refuses("through a QP of another PD", a, o.at(verbs.OpWrite, windowAt))
}

// windowOfClosedQP closes a QP that windows were bound through: they end with it,
// or it is busy until they do.
func windowOfClosedQP(e *env) {
	c, d := e.pair(verbs.RC)
	o := e.opening(verbs.MWType2)
	err := o.b.qp.Close()
	if errors.Is(err, verbs.ErrBusy) {
		e.must("close window", o.w.Close())
		err = o.b.qp.Close()
	}
	e.must("close QP", err)
	e.must("close the MR of a window whose QP was closed", o.mb.Close())
	e.must("close window", o.w.Close())
	e.works(c, d)
}

// windowRebound binds a window of type 1 anew as it is, and takes it back by a
// bind of nothing.
func windowRebound(e *env) {
	o := e.opening(verbs.MWType1)
	old := o.at(verbs.OpWrite, windowAt)
	o.w.bind(o.mb, 0, 64, e.remoteRights())
	o.lets("bound anew", o.a, o.w.RKey(), 0)
	o.refuses("the key of before", o.a, old)
	o = e.opening(verbs.MWType1)
	wr := o.at(verbs.OpWrite, windowAt)
	e.wants("close an MR with a window", o.mb.Close(), verbs.ErrBusy)
	o.w.bind(o.mb, windowAt, 0, 0)
	o.refuses("bound to nothing", o.a, wr)
	wr.RKey = o.w.RKey()
	c, _ := e.pair(verbs.RC)
	o.refuses("bound to nothing, by its key", c, wr)
	e.must("close an MR without windows", o.mb.Close())
}

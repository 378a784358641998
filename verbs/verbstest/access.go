package verbstest

import (
	"fmt"
	"math"

	"heddle/verbs"
)

// violation is a request to memory that a peer may not make.
type violation struct {
	name string
	op   verbs.Op
	// access is what the target's MR allows, and qp what its QP does; 0 is
	// everything.
	access, qp verbs.Access
	change     func(r *rig, wr *verbs.SendWR)
	want       []verbs.Status
}

func wrongKey(_ *rig, wr *verbs.SendWR) { wr.RKey = ^wr.RKey }

func nearbyKey(_ *rig, wr *verbs.SendWR) { wr.RKey++ }

func foreignKey(r *rig, wr *verbs.SendWR) {
	other := r.b.regionOf(r.b.newPD(), 4096, everything)
	wr.RemoteAddr, wr.RKey = other.addr(0), other.RKey()
}

func closedMR(r *rig, wr *verbs.SendWR) {
	old := r.b.memory(4096)
	wr.RemoteAddr, wr.RKey = old.addr(0), old.RKey()
	r.e.must("close MR", old.Close())
}

func otherMR(r *rig, wr *verbs.SendWR) { wr.RemoteAddr = r.b.memory(4096).addr(0) }

func pastEnd(r *rig, wr *verbs.SendWR) { wr.RemoteAddr = r.mb.addr(r.mb.Len() - 4) }

func wholePastEnd(r *rig, wr *verbs.SendWR) { wr.RemoteAddr = r.mb.addr(r.mb.Len()) }

func beforeBegin(r *rig, wr *verbs.SendWR) { wr.RemoteAddr = r.mb.addr(0) - 8 }

func wraps(_ *rig, wr *verbs.SendWR) { wr.RemoteAddr = math.MaxUint64 - 3 }

func zeroAddress(_ *rig, wr *verbs.SendWR) { wr.RemoteAddr = 0 }

func unaligned(_ *rig, wr *verbs.SendWR) { wr.RemoteAddr += 4 }

func as(*rig, *verbs.SendWR) {}

// violations are tried with each of the operations that they are of.
func violations() (list []violation) {
	for _, op := range []verbs.Op{verbs.OpWrite, verbs.OpWriteImm, verbs.OpRead, verbs.OpFetchAdd, verbs.OpCompareSwap} {
		for _, v := range []violation{
			{name: "wrong key", change: wrongKey},
			{name: "key beside it", change: nearbyKey},
			{name: "key of another PD", change: foreignKey},
			{name: "key of a closed MR", change: closedMR},
			{name: "address of another MR", change: otherMR},
			{name: "over the end", change: pastEnd},
			{name: "past the end", change: wholePastEnd},
			{name: "before the begin", change: beforeBegin},
			{name: "wraps 2^64", change: wraps},
			{name: "address zero", change: zeroAddress},
			{name: "MR without the right", access: everything &^ right(op), change: as},
			{name: "MR without any right", access: verbs.LocalWrite, change: as},
			{name: "QP without the right", qp: verbs.NoAccess | (verbs.RemoteRead|verbs.RemoteWrite|verbs.RemoteAtomic)&^right(op), change: as},
			{name: "QP without any right", qp: verbs.NoAccess, change: as},
		} {
			if op.Atomic() && (v.name == "over the end" || v.name == "wraps 2^64") {
				continue // that is unaligned first
			}
			v.op, v.want = op, []verbs.Status{verbs.StatusRemoteAccess}
			if v.qp != 0 { // devices differ in what they call an operation that is off
				v.want = append(v.want, verbs.StatusRemoteInvalidRequest)
			}
			list = append(list, v)
		}
		if op.Atomic() {
			list = append(list, violation{name: "unaligned", op: op, change: unaligned, want: []verbs.Status{verbs.StatusRemoteInvalidRequest}})
		}
	}
	return list
}

// right is what an operation needs.
func right(op verbs.Op) verbs.Access {
	switch {
	case op.Atomic():
		return verbs.RemoteAtomic
	case op == verbs.OpRead:
		return verbs.RemoteRead
	default:
		return verbs.RemoteWrite
	}
}

// accessOf tries all violations of an operation, each on a pair of its own, and
// sees to it that memory and another pair are unharmed.
func accessOf(op verbs.Op) func(*env) {
	return func(e *env) {
		c, d := e.pair(verbs.RC)
		for _, v := range violations() {
			if v.op == op {
				e.violate(&v)
				e.works(c, d)
			}
		}
	}
}

func (e *env) violate(v *violation) {
	e.Helper()
	a := e.near.qp(verbs.RC)
	b := e.far.qp(verbs.RC, func(q *verbs.QPAttr) { q.Access = v.qp })
	e.connect(a, b)
	access := v.access
	if access == 0 {
		access = everything
	}
	r := &rig{e: e, a: a, b: b, ma: a.memory(4096), mb: b.region(4096, access)}
	before := e.noise(4096)
	r.ma.store(0, e.noise(4096))
	r.mb.store(0, before)
	mine := r.ma.load(0, 4096)
	wr := r.request(v.op, 8)
	wr.ID, wr.Flags = 5, verbs.Signaled
	v.change(r, &wr)
	if v.op == verbs.OpWriteImm {
		b.recv(1)
	}
	a.post(wr)
	what := fmt.Sprintf("%v, %s", v.op, v.name)
	if wc := a.sends.next(); wc.ID != 5 || !e.allowed(wc.Status, v.want) {
		e.Errorf("%s: number %d: %v, want number 5: %v", what, wc.ID, wc.Status, v.want)
	}
	if got, err := a.qp.State(); got != verbs.Err || err != nil {
		e.Errorf("%s: the QP is in %v (%v), want ERR", what, got, err)
	}
	if !r.mb.equal(0, before) {
		e.Errorf("%s: the target's memory was changed", what)
	}
	if !r.ma.equal(0, mine) {
		e.Errorf("%s: the initiator's memory was changed", what)
	}
}

// localProtection has requests name memory of their own side that they may not
// use; nothing leaves.
func localProtection(e *env) {
	op := e.oneSided()
	for name, change := range map[string]func(a *end, ma *region, s *verbs.SGE){
		"wrong key":      func(_ *end, _ *region, s *verbs.SGE) { s.LKey = ^s.LKey },
		"over the end":   func(_ *end, ma *region, s *verbs.SGE) { s.Addr = ma.addr(ma.Len() - 4) },
		"wraps 2^64":     func(_ *end, _ *region, s *verbs.SGE) { s.Addr = math.MaxUint64 - 3 },
		"another PD":     func(a *end, _ *region, s *verbs.SGE) { *s = a.regionOf(a.newPD(), 4096, everything).SGE(0, 8) },
		"outside of SGE": func(_ *end, ma *region, s *verbs.SGE) { *s = ma.SGE(ma.Len(), 8) },
	} {
		a, b := e.pair(verbs.RC)
		r := e.rig(a, b, 64)
		before := r.mb.load(0, 2*guard+64)
		wr := r.request(op, 8)
		wr.ID = 9
		change(a, r.ma, &wr.SGEs[0])
		a.post(wr)
		if wc := a.sends.next(); wc.ID != 9 || wc.Status != verbs.StatusLocalProtection {
			e.Errorf("%s: number %d: %v, want number 9: %v", name, wc.ID, wc.Status, verbs.StatusLocalProtection)
		}
		a.is(verbs.Err)
		if !r.mb.equal(0, before) {
			e.Errorf("%s: the target's memory was changed", name)
		}
	}
}

// readOnly has what a READ brings, or a message, come to memory without
// LocalWrite.
func readOnly(e *env) {
	a, b := e.pair(verbs.RC)
	target := a.region(4096, verbs.RemoteRead)
	before := target.load(0, 64)
	r := e.rig(a, b, 64)
	wr := r.request(verbs.OpRead, 8)
	wr.ID, wr.SGEs = 4, []verbs.SGE{target.SGE(0, 8)}
	a.post(wr)
	a.sends.fails(4, verbs.StatusLocalProtection)
	a.is(verbs.Err)
	if !target.equal(0, before) {
		e.Error("memory without LocalWrite was changed")
	}
}

// badReceiveBuffer has a message come to memory that the receiver may not use.
func badReceiveBuffer(e *env) {
	a, b := e.pair(verbs.RC)
	r := e.rig(a, b, 64)
	sge := r.mb.SGE(0, 64)
	sge.LKey = ^sge.LKey
	b.recv(2, sge)
	wr := r.request(verbs.OpSend, 8)
	wr.ID = 3
	a.post(wr)
	a.sends.fails(3, verbs.StatusRemoteOperation)
	b.recvs.fails(2, verbs.StatusLocalProtection)
	a.is(verbs.Err)
	b.is(verbs.Err)
}

// longMessage has a message come that does not fit.
func longMessage(e *env) {
	a, b := e.pair(verbs.RC)
	c, d := e.pair(verbs.RC)
	r := e.rig(a, b, 256)
	before := r.mb.load(guard+16, 256)
	b.recv(2, r.mb.SGE(guard, 16))
	wr := r.request(verbs.OpSend, 17)
	wr.ID = 3
	a.post(wr)
	a.sends.fails(3, verbs.StatusRemoteInvalidRequest)
	b.recvs.fails(2, verbs.StatusLocalLength)
	a.is(verbs.Err)
	b.is(verbs.Err)
	if !r.mb.equal(guard+16, before) {
		e.Error("what is after the buffer was changed")
	}
	e.works(c, d)
}

// invalidRights are sets that IBTA does not allow.
func invalidRights(e *env) {
	mem, err := verbs.NewMemory(4096)
	e.must("memory", err)
	e.closing(rankMemory, "memory", mem.Close)
	for _, access := range []verbs.Access{verbs.RemoteWrite, verbs.RemoteAtomic, verbs.RemoteWrite | verbs.RemoteRead} {
		mr, err := e.near.pd.RegisterMR(mem, access)
		e.wants(fmt.Sprintf("rights %#x", access), err, verbs.ErrInvalid)
		if err == nil {
			e.must("close MR", mr.Close())
		}
	}
}

// names are what an MR tells of itself.
func names(e *env) {
	r := e.near.memory(8192)
	if r.Memory() == nil || r.Len() < 8192 || r.Len() != r.Memory().Size() {
		e.Errorf("%d bytes of an MR", r.Len())
	}
	s := r.SGE(100, 24)
	if s.Addr != r.Addr()+100 || s.Length != 24 || s.LKey != r.LKey() {
		e.Errorf("SGE %+v of an MR at %#x under the key %#x", s, r.Addr(), r.LKey())
	}
}

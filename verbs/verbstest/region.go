package verbstest

import (
	"bytes"
	"context"
	"encoding/binary"
	"sync/atomic"
	"unsafe"

	"heddle/verbs"
)

// region is an MR of a test, in this process or in another one.
type region struct {
	verbs.MR
	side *side
}

const everything = verbs.LocalWrite | verbs.RemoteRead | verbs.RemoteWrite | verbs.RemoteAtomic

// distant is an MR of another process.
type distant interface {
	Load(offset, n int) ([]byte, error)
	Store(offset int, data []byte) error
}

// memory registers new memory for all.
func (s *side) memory(size int) *region { s.e.Helper(); return s.region(size, everything) }

// region registers new memory. Rights to atomics are left out where there are
// none.
func (s *side) region(size int, access verbs.Access) *region {
	s.e.Helper()
	return s.regionOf(s.pd, size, access)
}

func (s *side) regionOf(pd verbs.PD, size int, access verbs.Access) *region {
	s.e.Helper()
	mem, err := verbs.NewMemory(size)
	s.e.must("memory", err)
	s.e.closing(rankMemory, s.name+" memory", mem.Close)
	mr, err := pd.RegisterMR(mem, access)
	s.e.must("MR", err)
	s.e.closing(rankMR, s.name+" MR", mr.Close)
	return &region{MR: mr, side: s}
}

// load copies bytes of it.
func (r *region) load(offset, n int) []byte {
	if d, ok := r.MR.(distant); ok {
		data, err := d.Load(offset, n)
		r.side.e.must("load", err)
		return data
	}
	return bytes.Clone(r.Memory().Bytes()[offset : offset+n])
}

func (r *region) store(offset int, data []byte) {
	if d, ok := r.MR.(distant); ok {
		r.side.e.must("store", d.Store(offset, data))
		return
	}
	copy(r.Memory().Bytes()[offset:], data)
}

// equal compares bytes of it, in place where they are of this process.
func (r *region) equal(offset int, want []byte) bool {
	if _, ok := r.MR.(distant); ok {
		return bytes.Equal(r.load(offset, len(want)), want)
	}
	return bytes.Equal(r.Memory().Bytes()[offset:offset+len(want)], want)
}

// comes tells whether all of want has come. What was seen to be right is looked at
// again at the end only: a look for each packet at all of 16 MiB takes minutes.
func (r *region) comes(offset int, want []byte) func() bool {
	const piece = 64 << 10
	seen := 0
	return func() bool {
		for seen < len(want) {
			end := min(seen+piece, len(want))
			if !r.equal(offset+seen, want[seen:end]) {
				return false
			}
			seen = end
		}
		return r.equal(offset, want)
	}
}

// word is 8 aligned bytes, read at once.
func (r *region) word(offset int) uint64 {
	if _, ok := r.MR.(distant); ok {
		return binary.NativeEndian.Uint64(r.load(offset, 8))
	}
	return atomic.LoadUint64(r.at(offset))
}

func (r *region) setWord(offset int, v uint64) {
	if _, ok := r.MR.(distant); ok {
		r.store(offset, binary.NativeEndian.AppendUint64(nil, v))
		return
	}
	atomic.StoreUint64(r.at(offset), v)
}

// load8 is such a word, as bytes.
func (r *region) load8(offset int) []byte {
	return binary.NativeEndian.AppendUint64(nil, atomic.LoadUint64(r.at(offset)))
}

func (r *region) at(offset int) *uint64 {
	return (*uint64)(unsafe.Pointer(&r.Memory().Bytes()[offset]))
}

// addr is how peers call a byte of it.
func (r *region) addr(offset int) uint64 { return r.Addr() + uint64(offset) }

// await waits until what its program sees of the memory is so.
func (r *region) await(what string, ready func() bool) {
	r.side.e.Helper()
	r.side.e.must("waiting for "+what, r.side.dev.Await(r.side.e.ctx, ready))
}

// awaitWord waits for a value.
func (r *region) awaitWord(offset int, want uint64) {
	r.side.e.Helper()
	r.await("a word in memory", func() bool { return r.word(offset) == want })
}

// guard is what stands on either side of the place that a message comes to.
const guard = 64

// rig is a pair with memory for messages of a size at both ends.
type rig struct {
	e        *env
	a, b     *end
	ma, mb   *region
	sequence uint64
}

func (e *env) rig(a, b *end, size int) *rig {
	e.Helper()
	return &rig{e: e, a: a, b: b, ma: a.memory(size + 2*guard), mb: b.memory(size + 2*guard)}
}

// noise is n random bytes.
func (e *env) noise(n int) []byte {
	b := make([]byte, n+8)
	for i := 0; i < n; i += 8 {
		binary.LittleEndian.PutUint64(b[i:], e.rand.Uint64())
	}
	return b[:n]
}

// request is an operation of n bytes from a to b, or for a READ from b to a.
func (r *rig) request(op verbs.Op, n int) verbs.SendWR {
	wr := verbs.SendWR{ID: r.sequence, Op: op, SGEs: []verbs.SGE{r.ma.SGE(guard, n)}}
	if !op.Receives() || op == verbs.OpWriteImm {
		wr.RemoteAddr, wr.RKey = r.mb.addr(guard), r.mb.RKey()
	}
	if op.HasImm() {
		wr.Imm = uint32(r.e.rand.Uint64())
	}
	return wr
}

// transfer does an operation, and sees to it that the bytes come to the right
// place, and nowhere else, and that the completions are right.
func (r *rig) transfer(op verbs.Op, n int) {
	r.e.Helper()
	r.sequence++
	from, to := r.ma, r.mb
	if op == verbs.OpRead {
		from, to = to, from
	}
	data, before := r.e.noise(n), r.e.noise(n+2*guard)
	from.store(guard, data)
	to.store(0, before)
	r.expect(op, n)
	wr := r.request(op, n)
	r.a.do(wr)
	r.arrived(&wr, n)
	to.await("the bytes of a message", to.comes(guard, data))
	if !to.equal(0, before[:guard]) || !to.equal(guard+n, before[guard+n:]) {
		r.e.Errorf("%v of %d bytes changed what is beside its place", op, n)
	}
	if op != verbs.OpRead && !from.equal(guard, data) {
		r.e.Errorf("%v of %d bytes changed its source", op, n)
	}
}

// expect posts the buffer that an operation needs.
func (r *rig) expect(op verbs.Op, n int) {
	r.e.Helper()
	switch {
	case op == verbs.OpWriteImm:
		r.b.recv(r.sequence)
	case op.Receives():
		r.b.recv(r.sequence, r.mb.SGE(guard, n))
	}
}

// arrived looks at the completion of the receiver.
func (r *rig) arrived(wr *verbs.SendWR, n int) {
	r.e.Helper()
	if !wr.Op.Receives() {
		return
	}
	op := verbs.OpRecv
	if wr.Op == verbs.OpWriteImm {
		op = verbs.OpRecvWriteImm
	}
	wc := r.b.recvs.ok(wr.ID, op)
	if int(wc.ByteLen) != n || wc.QPN != r.b.qp.QPN() {
		r.e.Errorf("%v of %d bytes: %d bytes to QP %d, want QP %d", wr.Op, n, wc.ByteLen, wc.QPN, r.b.qp.QPN())
	}
	if has := wc.Flags&verbs.WithImm != 0; has != wr.Op.HasImm() || has && wc.Imm != wr.Imm {
		r.e.Errorf("%v: immediate %#x (%v), want %#x (%v)", wr.Op, wc.Imm, has, wr.Imm, wr.Op.HasImm())
	}
}

// canceled is a context that is done.
func canceled() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

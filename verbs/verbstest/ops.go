package verbstest

import (
	"cmp"
	"errors"
	"math"
	"slices"

	"heddle/verbs"
)

// sizes are the lengths of messages around which things go wrong, up to what the
// device and the suite allow.
func (e *env) sizes() (list []int) {
	mtu := cmp.Or(e.near.caps.MTU, 4096)
	for _, n := range []int{0, 1, 7, 8, 63, 64, mtu - 1, mtu, mtu + 1, 2*mtu + 3, 64 << 10, 1 << 20, 16 << 20} {
		if n <= e.longest() {
			list = append(list, n)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// longest is the longest message that is tested.
func (e *env) longest() int {
	most := cmp.Or(e.near.caps.MaxMessage, math.MaxInt)
	return min(most, e.suite.MaxSize)
}

// sizesOf transfers messages of all lengths.
func sizesOf(service verbs.QPType, op verbs.Op) func(*env) {
	return func(e *env) {
		a, b := e.pair(service)
		r := e.rig(a, b, e.longest())
		for _, n := range e.sizes() {
			r.transfer(op, n)
		}
	}
}

// bothWays has both ends send at once, and each find its own.
func bothWays(e *env) {
	a, b := e.pair(verbs.RC)
	op := e.oneSided()
	there, back := e.rig(a, b, 4096), e.rig(b, a, 4096)
	for range 8 {
		there.transfer(op, 4096)
		back.transfer(op, 4096)
	}
}

func tooLong(e *env) {
	most := e.near.caps.MaxMessage
	if most == 0 || most > 1<<20 {
		e.Logf("a message of more than %d bytes is not tried", most)
		return
	}
	a, b := e.pair(verbs.RC)
	r := e.rig(a, b, most+1)
	before := r.mb.load(0, most+1)
	wr := r.request(e.oneSided(), most+1)
	wr.Flags = verbs.Signaled
	if err := a.qp.PostSend(&wr); err == nil {
		a.sends.fails(wr.ID, verbs.StatusLocalLength)
	} else if !errors.Is(err, verbs.ErrInvalid) {
		e.Errorf("%d bytes: %v, want ErrInvalid", most+1, err)
	}
	if !r.mb.equal(0, before) {
		e.Error("the message came")
	}
}

// atomics does each atomic, and looks at the old value and the new one.
func atomics(op verbs.Op) func(*env) {
	return func(e *env) {
		a, b := e.pair(verbs.RC)
		r := e.rig(a, b, 64)
		for i, test := range []struct{ old, compare, swap, want uint64 }{
			{0, 0, 1, 1},
			{5, 5, 7, 7},
			{5, 6, 7, 5},
			{math.MaxUint64, math.MaxUint64, 2, 2},
			{1 << 63, 1, 0x0102030405060708, 1 << 63},
		} {
			want := test.want
			if op == verbs.OpFetchAdd {
				want = test.old + test.swap
			}
			r.mb.setWord(guard, test.old)
			r.mb.setWord(guard-8, 1)
			r.mb.setWord(guard+8, 2)
			wr := r.request(op, 8)
			wr.ID, wr.Compare, wr.Swap = uint64(i), test.compare, test.swap
			a.do(wr)
			if got := r.ma.word(guard); got != test.old {
				e.Errorf("%v of %#x: the old value is %#x", op, test.old, got)
			}
			r.mb.awaitWord(guard, want)
			if r.mb.word(guard-8) != 1 || r.mb.word(guard+8) != 2 {
				e.Errorf("%v changed the words beside it", op)
			}
		}
	}
}

// counting has several QPs of both sides add to one word: nothing gets lost.
func counting(e *env) {
	var qps []*end
	target := e.far.memory(64)
	var mine []*region
	for range 3 {
		a, _ := e.pair(verbs.RC)
		qps, mine = append(qps, a), append(mine, a.memory(64))
	}
	const each = 20
	seen := map[uint64]bool{}
	for range each {
		for i, q := range qps {
			q.post(verbs.SendWR{Op: verbs.OpFetchAdd, Flags: verbs.Signaled, SGEs: []verbs.SGE{mine[i].SGE(0, 8)}, RemoteAddr: target.addr(0), RKey: target.RKey(), Swap: 1})
		}
		for i, q := range qps {
			q.sends.ok(0, verbs.OpFetchAdd)
			seen[mine[i].word(0)] = true
		}
	}
	target.awaitWord(0, uint64(each*len(qps)))
	if len(seen) != each*len(qps) {
		e.Errorf("%d different old values of %d additions", len(seen), each*len(qps))
	}
}

// pieces cuts a region into n SGEs with gaps, in descending order, so that a list
// is not one run of bytes; the second one is empty.
func pieces(r *region, n int) (list []verbs.SGE, offsets []int) {
	for i := range n {
		offset, length := (n-1-i)*32, 1+i%16
		if i == 1 {
			length = 0
		}
		list, offsets = append(list, r.SGE(offset, length)), append(offsets, offset)
	}
	return list, offsets
}

func total(list []verbs.SGE) (n int) {
	for _, s := range list {
		n += int(s.Length)
	}
	return n
}

// lists has each operation take its bytes from, and put them to, as many places
// as the device allows.
func lists(op verbs.Op) func(*env) {
	return func(e *env) {
		most := min(e.near.attr.MaxSGE, e.far.attr.MaxSGE, 64)
		a, b := e.pair(verbs.RC, func(q *verbs.QPAttr) { q.SendSGE, q.RecvSGE = most, most })
		ma, mb := a.memory(64*32), b.memory(64*32)
		for n := 1; n <= most; n++ {
			near, nearAt := pieces(ma, n)
			far, farAt := pieces(mb, n)
			data := e.noise(total(near))
			wr := verbs.SendWR{ID: uint64(n), Op: op, SGEs: near, RemoteAddr: mb.addr(0), RKey: mb.RKey()}
			ma.store(0, e.noise(64*32))
			mb.store(0, e.noise(64*32))
			switch {
			case op == verbs.OpRead:
				mb.store(0, data)
			default:
				scatter(ma, near, nearAt, data)
			}
			if op == verbs.OpSend {
				b.recv(uint64(n), far...)
			}
			a.do(wr)
			switch op {
			case verbs.OpSend:
				b.recvs.ok(uint64(n), verbs.OpRecv)
				e.gathered(op, mb, far, farAt, data)
			case verbs.OpRead:
				e.gathered(op, ma, near, nearAt, data)
			default:
				mb.await("a gathered message", func() bool { return mb.equal(0, data) })
			}
		}
	}
}

func scatter(r *region, list []verbs.SGE, offsets []int, data []byte) {
	for i, s := range list {
		r.store(offsets[i], data[:s.Length])
		data = data[s.Length:]
	}
}

func (e *env) gathered(op verbs.Op, r *region, list []verbs.SGE, offsets []int, want []byte) {
	e.Helper()
	for i, s := range list {
		if !r.equal(offsets[i], want[:s.Length]) {
			e.Errorf("%v with %d SGEs: the bytes of number %d are others", op, len(list), i)
		}
		want = want[s.Length:]
	}
}

// oneMore has requests with more SGEs than the QP has refused, with the limit.
func oneMore(e *env) {
	a, b := e.pair(verbs.RC, func(q *verbs.QPAttr) { q.SendSGE, q.RecvSGE = 1, 1 })
	r := e.rig(a, b, 64)
	attr := a.qp.Attr()
	wr := r.request(e.oneSided(), 1)
	wr.SGEs = make([]verbs.SGE, attr.SendSGE+1)
	for i := range wr.SGEs {
		wr.SGEs[i] = r.ma.SGE(i, 1)
	}
	e.limited("post", a.qp.PostSend(&wr), verbs.ErrTooManySGEs, attr.SendSGE)
	list := make([]verbs.SGE, attr.RecvSGE+1)
	e.limited("post receive", a.qp.PostRecv(&verbs.RecvWR{SGEs: list}), verbs.ErrTooManySGEs, attr.RecvSGE)
	r.transfer(e.oneSided(), 64)
}

// limited looks at an error that has to name a limit.
func (e *env) limited(what string, err, want error, limit int) {
	e.Helper()
	var op *verbs.OpError
	e.wants(what, err, want)
	if !errors.As(err, &op) || op.Limit != limit || op.Got <= limit {
		e.Errorf("%s: %#v, want the limit %d and more", what, err, limit)
	}
}

// inline is case V7: at the limit it works and the memory may be any and may be
// used again at once; one more byte is refused with the limit.
func inline(e *env) {
	op := e.oneSided()
	if op == verbs.OpRead {
		op = verbs.OpSend
	}
	a, b := e.pair(verbs.RC, func(q *verbs.QPAttr) { q.Inline = e.near.caps.MaxInline })
	limit := a.qp.Attr().Inline
	if limit < e.near.caps.MaxInline {
		e.Errorf("%d bytes inline, asked for %d", limit, e.near.caps.MaxInline)
	}
	r := e.rig(a, b, limit)
	for _, n := range []int{0, 1, limit} {
		data := e.noise(n)
		heap := slices.Clone(data)
		wr := r.request(op, 0)
		wr.Flags, wr.SGEs, wr.InlineData = verbs.Inline|verbs.Signaled, nil, heap
		if op == verbs.OpSend {
			b.recv(0, r.mb.SGE(guard, limit))
		}
		a.post(wr)
		clear(heap)
		a.sends.ok(wr.ID, op)
		if op == verbs.OpSend {
			b.recvs.ok(0, verbs.OpRecv)
		}
		r.mb.await("inline data", func() bool { return r.mb.equal(guard, data) })
	}
	wr := r.request(op, 0)
	wr.Flags, wr.SGEs, wr.InlineData = verbs.Inline|verbs.Signaled, nil, make([]byte, limit+1)
	e.limited("post inline", a.qp.PostSend(&wr), verbs.ErrInlineLength, limit)
	a.sends.none("after a refused post")
}

// immediates carries numbers that a wrong byte order or sign would change.
func immediates(op verbs.Op) func(*env) {
	return func(e *env) {
		a, b := e.pair(verbs.RC)
		r := e.rig(a, b, 64)
		for i, imm := range []uint32{0, 1, 0x01020304, 1 << 31, math.MaxUint32} {
			r.sequence = uint64(i)
			r.expect(op, 3)
			wr := r.request(op, 3)
			wr.Imm = imm
			a.do(wr)
			r.arrived(&wr, 3)
		}
	}
}

// shortMessages come to buffers that are longer, and leave their ends alone.
func shortMessages(e *env) {
	a, b := e.pair(verbs.RC)
	r := e.rig(a, b, 256)
	for i, n := range []int{0, 1, 100, 255} {
		before := e.noise(256)
		r.mb.store(guard, before)
		r.sequence = uint64(i)
		b.recv(r.sequence, r.mb.SGE(guard, 256))
		wr := r.request(verbs.OpSend, n)
		a.do(wr)
		r.arrived(&wr, n)
		if !r.mb.equal(guard+n, before[n:]) {
			e.Errorf("a message of %d bytes changed what is after it", n)
		}
	}
}

// zeroLength is case V6.
func zeroLength(e *env) {
	a, b := e.pair(verbs.RC)
	r := e.rig(a, b, 64)
	before := r.mb.load(0, 64)
	for i, op := range []verbs.Op{verbs.OpWrite, verbs.OpRead} {
		if !e.near.caps.Can(verbs.RC, op) {
			continue
		}
		for j, sges := range [][]verbs.SGE{nil, {{}}, {r.ma.SGE(0, 0)}} {
			a.do(verbs.SendWR{ID: uint64(10*i + j), Op: op, SGEs: sges, RemoteAddr: 3, RKey: 0xffffffff})
		}
	}
	a.is(verbs.RTS)
	if !r.mb.equal(0, before) {
		e.Error("memory was changed")
	}
}

// reused has a work request and its list changed as soon as it is posted.
func reused(e *env) {
	a, b := e.pair(verbs.RC)
	r := e.rig(a, b, 4096)
	op := e.oneSided()
	from, to := r.ma, r.mb
	if op == verbs.OpRead {
		from, to = to, from
	}
	data := e.noise(4096)
	from.store(guard, data)
	sges := make([]verbs.SGE, 1)
	wr := verbs.SendWR{Op: op, SGEs: sges}
	for i := range 16 {
		sges[0] = r.ma.SGE(guard+i*256, 256)
		wr.ID, wr.Flags, wr.RemoteAddr, wr.RKey = uint64(i), verbs.Signaled, r.mb.addr(guard+i*256), r.mb.RKey()
		e.must("post", a.qp.PostSend(&wr))
		sges[0], wr.ID, wr.RKey, wr.RemoteAddr = verbs.SGE{}, 99, 0, 0
	}
	for i := range 16 {
		a.sends.ok(uint64(i), op)
	}
	to.await("16 messages", func() bool { return to.equal(guard, data) })
}

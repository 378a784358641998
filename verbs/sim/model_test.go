package sim_test

import (
	"bytes"
	"encoding/binary"
	"testing"
	"time"

	"heddle/ib"
	"heddle/verbs"
	"heddle/verbs/sim"

	"pgregory.net/rapid"
)

// model is the memory of both sides as a program leaves it whose requests are
// executed one after the other.
type model struct{ x, y []byte }

const (
	target  = 1 << 13 // of WRITEs, READs and atomics, at the beginning of y; of x it is what is sent
	slot    = 3 << 10 // results in x, receives in y, one for each request
	longest = slot
	pathMTU = ib.MTU1024
)

// request is one of a random program.
type request struct {
	wr   verbs.SendWR
	size int
	from int // in x
	to   int // in y
}

// program draws requests that a profile has.
func program(r *rapid.T, p *sim.Profile, x, y *side) (list []request) {
	var ops []verbs.Op
	for op := verbs.OpSend; op <= verbs.OpCompareSwap; op++ {
		if p.Ops[verbs.RC].Has(op) {
			ops = append(ops, op)
		}
	}
	most := longest
	if p.MaxMessage == 0 {
		most = pathMTU.Bytes() // of one packet
	}
	for i := range rapid.IntRange(1, 16).Draw(r, "requests") {
		q := request{size: rapid.IntRange(0, most).Draw(r, "size")}
		op := rapid.SampledFrom(ops).Draw(r, "op")
		if op == verbs.OpFetchAdd || op == verbs.OpCompareSwap {
			q.size = 8
		}
		q.from = rapid.IntRange(0, target-q.size).Draw(r, "from")
		q.to = rapid.IntRange(0, target-q.size).Draw(r, "to")
		if q.size == 8 {
			q.to &^= 7
		}
		q.wr = write(x, y, q.from, q.size, q.to)
		if waits := op >= verbs.OpRead; waits {
			q.wr.SGEs[0] = x.mr.SGE(target+i*slot, q.size)
		}
		q.wr.ID, q.wr.Op, q.wr.Imm = uint64(i), op, rapid.Uint32().Draw(r, "imm")
		q.wr.Compare, q.wr.Swap = rapid.Uint64().Draw(r, "compare"), rapid.Uint64().Draw(r, "swap")
		if rapid.Bool().Draw(r, "equal") {
			q.wr.Compare = binary.NativeEndian.Uint64(y.mem.Bytes()[q.to&^7&(target-8):])
		}
		q.wr.Flags |= verbs.Fence
		list = append(list, q)
	}
	return list
}

// do executes a request; received counts the receives that were used.
func (m *model) do(q *request, i int, received *int) {
	result, word := m.x[target+i*slot:], m.y[q.to:]
	data := m.x[q.from : q.from+q.size]
	switch q.wr.Op {
	case verbs.OpSend, verbs.OpSendImm:
		copy(m.y[target+*received*slot:], data)
		*received++
	case verbs.OpWriteImm:
		copy(word, data)
		*received++
	case verbs.OpWrite:
		copy(word, data)
	case verbs.OpRead:
		copy(result, word[:q.size])
	case verbs.OpFetchAdd:
		old := binary.NativeEndian.Uint64(word)
		binary.NativeEndian.PutUint64(result, old)
		binary.NativeEndian.PutUint64(word, old+q.wr.Swap)
	case verbs.OpCompareSwap:
		old := binary.NativeEndian.Uint64(word)
		binary.NativeEndian.PutUint64(result, old)
		if old == q.wr.Compare {
			binary.NativeEndian.PutUint64(word, q.wr.Swap)
		}
	case verbs.OpBind, verbs.OpLocalInv, verbs.OpRecv, verbs.OpRecvWriteImm: // not drawn
	}
}

// TestPrograms: random programs do what the model says, whatever is lost, comes
// twice or late: with all requests under way at once where all is in order, and
// else one after the other.
func TestPrograms(t *testing.T) {
	for _, p := range sim.Profiles() {
		t.Run(p.Name, func(t *testing.T) {
			rapid.Check(t, func(r *rapid.T) { programOnce(t, r, p) })
		})
	}
}

func programOnce(t *testing.T, r *rapid.T, p sim.Profile) {
	n, err := sim.New(sim.Config{
		Profile: p, Seed: rapid.Uint64().Draw(r, "seed"),
		Clock: rapid.SampledFrom([]sim.Clock{sim.Virtual, sim.Crossings}).Draw(r, "clock"),
		Faults: sim.Faults{
			Loss: rapid.SampledFrom([]float64{0, 0.05}).Draw(r, "loss"), Duplicate: 0.05, NotReady: 0.05,
			Jitter: time.Microsecond,
		},
	})
	must(t, err)
	defer n.Close() //nolint:errcheck // of a test
	x, y := pair(t, n, verbs.QPAttr{MTU: pathMTU, Reads: 3})
	fill(x.mem.Bytes()[:target], 1)
	fill(y.mem.Bytes()[:target], 3)
	m := model{bytes.Clone(x.mem.Bytes()), bytes.Clone(y.mem.Bytes())}
	list := program(r, &p, x, y)
	for i := range list {
		y.recv(uint64(i), y.mr.SGE(target+i*slot, slot))
	}
	received := 0
	for i := range list {
		x.post(list[i].wr)
		m.do(&list[i], i, &received)
		if !p.Placement {
			x.succeed(r, i, 1)
		}
	}
	if p.Placement {
		x.succeed(r, 0, len(list))
	}
	n.Settle(100000)
	if !bytes.Equal(x.mem.Bytes(), m.x) || !bytes.Equal(y.mem.Bytes(), m.y) {
		r.Fatal("memory is not what the model says")
	}
	got, err := y.cq.Poll(make([]verbs.WC, len(list)+1))
	if got != received || err != nil {
		r.Fatalf("%d messages came, want %d, %v", got, received, err)
	}
}

// succeed takes the completions of so many requests, in order.
func (s *side) succeed(r *rapid.T, first, count int) {
	for i, wc := range s.completions(count) {
		if wc.Status != verbs.StatusOK || wc.ID != uint64(first+i) {
			r.Fatalf("request %d: %d, %v", first+i, wc.ID, wc.Status)
		}
	}
}

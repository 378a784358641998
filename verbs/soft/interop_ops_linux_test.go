//go:build amd64

package soft_test

import (
	"bytes"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"heddle/ib"
	"heddle/verbs"
)

// Where things are in the memory of a node.
const (
	sourceAt = 0
	targetAt = 256 << 10
	wordAt   = 512 << 10
)

// operationsDone counts what was done between the two devices.
var operationsDone atomic.Int64

var dataOps = []verbs.Op{verbs.OpSend, verbs.OpSendImm, verbs.OpWrite, verbs.OpWriteImm, verbs.OpRead}

// interopRC does each operation in each size that matters, with two MTUs.
func interopRC(t *testing.T) {
	bothWays(t, func(t *testing.T, from, to *node) {
		for _, mtu := range []ib.MTU{ib.MTU1024, ib.MTU4096} {
			near, far := connect(t, from, to, verbs.QPAttr{Type: verbs.RC, MTU: mtu})
			if got := near.Attr().MTU; got != mtu {
				t.Fatalf("the path's MTU is %v, not %v", got, mtu)
			}
			m := mtu.Bytes()
			accepted(t, ofSoft(from, to), func() {
				for _, size := range []int{0, 1, 3, 4, m - 1, m, m + 1, 3 * m, 5*m - 3, 64 << 10} {
					for _, op := range dataOps {
						transfer(t, from, to, near, far, op, size)
					}
				}
				atomics(t, from, to, near)
			})
		}
	})
}

// interopUC does so on UC, which has neither READs nor atomics.
func interopUC(t *testing.T) {
	bothWays(t, func(t *testing.T, from, to *node) {
		near, far := connect(t, from, to, verbs.QPAttr{Type: verbs.UC, MTU: ib.MTU1024})
		accepted(t, ofSoft(from, to), func() {
			for _, size := range []int{1, 1023, 1024, 1025, 3 * 1024, 16 << 10} {
				for _, op := range dataOps[:4] {
					transfer(t, from, to, near, far, op, size)
				}
			}
		})
	})
}

// pattern fills memory so that each operation has other bytes; what is short of a
// page compresses well.
func pattern(b []byte, salt int) {
	for i := range b {
		b[i] = byte(i/64*7 + salt)
	}
}

var salt atomic.Int64

// transfer does one operation, and looks at all that it changes.
func transfer(t *testing.T, from, to *node, near, far verbs.QP, op verbs.Op, size int) {
	t.Helper()
	what := fmt.Sprintf("%v of %d bytes from %s", op, size, from.name)
	source, target := from.mem[sourceAt:sourceAt+size], to.mem[targetAt:]
	wr := verbs.SendWR{
		ID: 7, Op: op, Flags: verbs.Signaled, SGEs: []verbs.SGE{from.mr.SGE(sourceAt, size)},
		Imm: 0x01020304 + uint32(size), RemoteAddr: to.mr.Addr() + targetAt, RKey: to.mr.RKey(),
	}
	if op == verbs.OpRead {
		source, target = to.mem[sourceAt:sourceAt+size], from.mem[targetAt:]
		wr.RemoteAddr, wr.SGEs = to.mr.Addr()+sourceAt, []verbs.SGE{from.mr.SGE(targetAt, size)}
	}
	pattern(source, int(salt.Add(1)))
	clear(target[:size+1])
	receives := op == verbs.OpSend || op.HasImm()
	if receives {
		to.recv(far, targetAt, size+1)
	}
	must(t, near.PostSend(&wr))
	if wc := from.succeed(); wc.ID != 7 || wc.QPN != near.QPN() {
		t.Errorf("%s: %+v", what, wc)
	}
	switch {
	case receives:
		checkReceived(t, what, to.succeed(), &wr, size)
	case near.Type() == verbs.UC:
		last := &target[size-1]
		must(t, to.ctx.Await(t.Context(), func() bool { return loadByte(last) == source[size-1] }))
	}
	if !bytes.Equal(target[:size], source) || target[size] != 0 {
		t.Errorf("%s: other bytes arrived", what)
	}
	operationsDone.Add(1)
}

func checkReceived(t *testing.T, what string, wc verbs.WC, wr *verbs.SendWR, size int) {
	t.Helper()
	want := verbs.WC{ID: targetAt, Op: verbs.OpRecv, ByteLen: uint32(size), QPN: wc.QPN}
	if wr.Op.HasImm() {
		want.Imm, want.Flags = wr.Imm, verbs.WithImm
	}
	if wr.Op == verbs.OpWriteImm {
		want.Op = verbs.OpRecvWriteImm
	}
	wc.SrcQPN, wc.Vendor = 0, 0 // which are of no receive of this kind
	if wc != want {
		t.Errorf("%s: received as %+v, want %+v", what, wc, want)
	}
}

// loadByte reads a byte that a device may write meanwhile.
func loadByte(b *byte) byte {
	at := uintptr(unsafe.Pointer(b))
	word := atomic.LoadUint32((*uint32)(unsafe.Pointer(uintptr(unsafe.Pointer(b)) &^ 3)))
	return byte(word >> (at & 3 * 8))
}

// atomics adds and swaps, and looks at the values before and after.
func atomics(t *testing.T, from, to *node, near verbs.QP) {
	t.Helper()
	word := (*uint64)(unsafe.Pointer(&to.mem[wordAt]))
	result := (*uint64)(unsafe.Pointer(&from.mem[wordAt]))
	atomic.StoreUint64(word, 1<<40)
	wr := verbs.SendWR{Flags: verbs.Signaled, SGEs: []verbs.SGE{from.mr.SGE(wordAt, 8)}, RemoteAddr: to.mr.Addr() + wordAt, RKey: to.mr.RKey()}
	for _, test := range []struct {
		op            verbs.Op
		compare, swap uint64
		before, after uint64
	}{
		{verbs.OpFetchAdd, 0, 5, 1 << 40, 1<<40 + 5},
		{verbs.OpFetchAdd, 0, 1<<64 - 6, 1<<40 + 5, 1<<40 - 1},
		{verbs.OpCompareSwap, 3, 9, 1<<40 - 1, 1<<40 - 1},
		{verbs.OpCompareSwap, 1<<40 - 1, 9, 1<<40 - 1, 9},
	} {
		wr.Op, wr.Compare, wr.Swap = test.op, test.compare, test.swap
		must(t, near.PostSend(&wr))
		from.succeed()
		if got, now := atomic.LoadUint64(result), atomic.LoadUint64(word); got != test.before || now != test.after {
			t.Errorf("%v from %s: gave %#x and left %#x, want %#x and %#x", test.op, from.name, got, now, test.before, test.after)
		}
		operationsDone.Add(1)
	}
}

// interopStreams has both ends send at once, as much as their queues hold: messages
// of several packets, with READs and atomics between.
func interopStreams(t *testing.T) {
	const count, size = 48, 3000
	for family := range 2 {
		ours, theirs := nodes(t, family)
		near, far := connect(t, ours, theirs, verbs.QPAttr{Type: verbs.RC, MTU: ib.MTU1024, SendWR: 2 * count, RecvWR: count})
		for i, end := range []struct {
			from, to *node
			qp       verbs.QP
		}{{ours, theirs, near}, {theirs, ours, far}} {
			for k := range count {
				end.from.recv(end.qp, targetAt+k*4096, size)
				pattern(end.from.mem[sourceAt+k*4096:][:size], k+i)
			}
			*(*uint64)(unsafe.Pointer(&end.from.mem[wordAt])) = 0
		}
		for k := range count {
			stream(t, ours, theirs, near, k, size)
			stream(t, theirs, ours, far, k, size)
		}
		for i, n := range []*node{ours, theirs} {
			for range 3 * count {
				n.succeed()
			}
			for k := range count {
				if !bytes.Equal(n.mem[targetAt+k*4096:][:size], []*node{theirs, ours}[i].mem[sourceAt+k*4096:][:size]) {
					t.Errorf("%s received other bytes in message %d", n.name, k)
				}
			}
			if got := *(*uint64)(unsafe.Pointer(&n.mem[wordAt])); got != count/2 {
				t.Errorf("%s has added up %d, want %d", n.name, got, count/2)
			}
		}
		operationsDone.Add(4 * count)
	}
}

// stream posts a SEND, and a READ or an atomic.
func stream(t *testing.T, from, to *node, q verbs.QP, k, size int) {
	t.Helper()
	second := verbs.SendWR{
		Op: verbs.OpRead, Flags: verbs.Signaled, SGEs: []verbs.SGE{from.mr.SGE(wordAt+4096, size)},
		RemoteAddr: to.mr.Addr() + sourceAt, RKey: to.mr.RKey(),
	}
	if k%2 == 1 {
		second.Op, second.RemoteAddr, second.Swap = verbs.OpFetchAdd, to.mr.Addr()+wordAt, 1
		second.SGEs = []verbs.SGE{from.mr.SGE(wordAt+8192, 8)}
	}
	n, err := q.PostSends([]verbs.SendWR{
		{Op: verbs.OpSend, Flags: verbs.Signaled, SGEs: []verbs.SGE{from.mr.SGE(sourceAt+k*4096, size)}}, second,
	})
	if n != 2 || err != nil {
		t.Fatalf("posted %d: %v", n, err)
	}
}

// interopNotReady sends to a peer without a receive: it waits as long as it may, and
// then fails.
func interopNotReady(t *testing.T) {
	bothWays(t, func(t *testing.T, from, to *node) {
		near, far := connect(t, from, to, verbs.QPAttr{Type: verbs.RC, RNRTimer: time.Millisecond})
		pattern(from.mem[:5000], 3)
		must(t, near.PostSend(&verbs.SendWR{Op: verbs.OpSend, Flags: verbs.Signaled, SGEs: []verbs.SGE{from.mr.SGE(0, 5000)}}))
		from.silent(50 * time.Millisecond)
		to.recv(far, targetAt, 5000)
		from.succeed()
		to.succeed()
		if !bytes.Equal(from.mem[:5000], to.mem[targetAt:][:5000]) {
			t.Error("other bytes arrived")
		}
		near, far = connect(t, from, to, verbs.QPAttr{Type: verbs.RC, RNRRetries: verbs.Times(2), RNRTimer: time.Millisecond})
		must(t, near.PostSend(&verbs.SendWR{Op: verbs.OpSendImm, Flags: verbs.Signaled}))
		if wc := from.completions(1)[0]; wc.Status != verbs.StatusRNRRetryExceeded {
			t.Errorf("%s: %v, want that there is no receive", from.name, wc.Status)
		}
		must(t, far.Modify(verbs.Err))
		operationsDone.Add(2)
	})
}

// refusal is a request that the peer does not allow.
type refusal struct {
	name string
	wr   verbs.SendWR
	attr verbs.QPAttr
	want verbs.Status
	// rxe is what rxe answers where that is something else.
	rxe verbs.Status
}

// refusals are those, of a peer with this key. Where rxe deviates: a message
// that its receive is too short for is an invalid request (IBTA 9.9.3), and rxe calls
// it an operational error; it looks at the rights of the QP with the opcode, and calls
// what they forbid an invalid request.
func refusals(key uint32) []refusal {
	wrong := key ^ 0x5500
	return []refusal{
		{name: "WRITE with a wrong key", wr: verbs.SendWR{Op: verbs.OpWrite, RKey: wrong}, want: verbs.StatusRemoteAccess},
		{name: "READ with a wrong key", wr: verbs.SendWR{Op: verbs.OpRead, RKey: wrong}, want: verbs.StatusRemoteAccess},
		{name: "atomic with a wrong key", wr: verbs.SendWR{Op: verbs.OpFetchAdd, RKey: wrong}, want: verbs.StatusRemoteAccess},
		{name: "WRITE beyond the end", wr: verbs.SendWR{Op: verbs.OpWrite, RKey: key, RemoteAddr: nodeMemory - 4}, want: verbs.StatusRemoteAccess},
		{name: "READ beyond the end", wr: verbs.SendWR{Op: verbs.OpRead, RKey: key, RemoteAddr: nodeMemory - 4}, want: verbs.StatusRemoteAccess},
		{
			name: "WRITE at a QP without the right", wr: verbs.SendWR{Op: verbs.OpWrite, RKey: key}, attr: verbs.QPAttr{Access: verbs.RemoteRead},
			want: verbs.StatusRemoteAccess, rxe: verbs.StatusRemoteInvalidRequest,
		},
		{name: "atomic at an odd address", wr: verbs.SendWR{Op: verbs.OpFetchAdd, RKey: key, RemoteAddr: 4}, want: verbs.StatusRemoteInvalidRequest},
		{name: "SEND longer than the receive", wr: verbs.SendWR{Op: verbs.OpSend}, want: verbs.StatusRemoteInvalidRequest, rxe: verbs.StatusRemoteOperation},
	}
}

// interopRefusals asks for what the peer does not allow.
func interopRefusals(t *testing.T) {
	bothWays(t, func(t *testing.T, from, to *node) {
		for _, test := range refusals(to.mr.RKey()) {
			if to.dev == nil && test.rxe != verbs.StatusOK {
				test.want = test.rxe
			}
			t.Run(test.name, func(t *testing.T) { test.try(t, from, to) })
			operationsDone.Add(1)
		}
	})
}

func (r *refusal) try(t *testing.T, from, to *node) {
	r.attr.Type = verbs.RC
	near, far := connect(t, from, to, r.attr)
	wr := r.wr
	wr.Flags, wr.SGEs = verbs.Signaled, []verbs.SGE{from.mr.SGE(sourceAt, 8)}
	wr.RemoteAddr += to.mr.Addr()
	if wr.Op == verbs.OpSend {
		to.recv(far, targetAt, 4)
	}
	if err := near.PostSend(&wr); err != nil {
		if from.dev != nil || wr.RemoteAddr%8 == 0 || !errors.Is(err, verbs.ErrInvalid) { // rxe sees that by itself
			t.Fatal(err)
		}
		return
	}
	if wc := from.completions(1)[0]; wc.Status != r.want {
		t.Errorf("%v, want %v", wc.Status, r.want)
	}
	if wr.Op == verbs.OpSend {
		if wc := to.completions(1)[0]; wc.Status == verbs.StatusOK {
			t.Error("it was received")
		}
	}
	if state, err := near.State(); state != verbs.Err || err != nil {
		t.Errorf("the QP is in %v, %v", state, err)
	}
}

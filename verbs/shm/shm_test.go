//go:build linux && (amd64 || arm64)

package shm_test

import (
	"bytes"
	"testing"

	"heddle/verbs"
)

func fill(b []byte, seed byte) {
	for i := range b {
		b[i] = byte(i)*7 + byte(i>>8) + seed
	}
}

// TestOneSided: WRITE, READ and atomics, the peer does nothing.
func TestOneSided(t *testing.T) {
	t.Run("one process", func(t *testing.T) {
		a, b := joined(t, verbs.QPAttr{Type: verbs.RC, SendSGE: 3})
		oneSided(t, a, b.hello())
	})
	t.Run("two processes", func(t *testing.T) {
		a := made(t, verbs.QPAttr{Type: verbs.RC, SendSGE: 3}, 1<<20, all)
		oneSided(t, a, spawn(t, "passive").meet(t, a))
	})
}

func oneSided(t *testing.T, a *node, peer hello) {
	buf := a.mem.Bytes()
	for _, n := range []int{0, 1, 2, 3, 7, 8, 9, 15, 16, 17, 63, 64, 65, 4095, 4096, 70001} {
		for _, off := range []int{0, 1, 4, 6} {
			fill(buf[:n], byte(n))
			clear(buf[1<<19:][:n+16])
			post(t, a.qp, &verbs.SendWR{Op: verbs.OpWrite, SGEs: []verbs.SGE{a.mr.SGE(0, n/3), a.mr.SGE(n/3, n-n/3)}, RemoteAddr: peer.Addr + uint64(off), RKey: peer.RKey})
			post(t, a.qp, &verbs.SendWR{ID: 9, Op: verbs.OpRead, Flags: verbs.Signaled, SGEs: []verbs.SGE{a.mr.SGE(1<<19, n/2), a.mr.SGE(1<<19+n/2, n-n/2)}, RemoteAddr: peer.Addr + uint64(off), RKey: peer.RKey})
			if wc := a.want(t, 1, verbs.StatusOK)[0]; wc.ID != 9 || wc.Op != verbs.OpRead || wc.ByteLen != uint32(n) {
				t.Errorf("%d bytes: %+v", n, wc)
			}
			if !bytes.Equal(buf[:n], buf[1<<19:][:n]) {
				t.Errorf("%d bytes from %d on came back wrong", n, off)
			}
		}
	}
	clear(buf[:16])
	post(t, a.qp, &verbs.SendWR{Op: verbs.OpWrite, Flags: verbs.Inline, InlineData: make([]byte, 8), RemoteAddr: peer.Addr, RKey: peer.RKey})
	add := verbs.SendWR{Op: verbs.OpFetchAdd, Flags: verbs.Signaled, SGEs: []verbs.SGE{a.mr.SGE(8, 8)}, RemoteAddr: peer.Addr, RKey: peer.RKey, Swap: 5}
	post(t, a.qp, &add)
	post(t, a.qp, &add)
	a.want(t, 2, verbs.StatusOK)
	if buf[8] != 5 {
		t.Errorf("fetch and add gave %d", buf[8])
	}
	swap := add
	swap.Op, swap.Compare, swap.Swap = verbs.OpCompareSwap, 10, 77
	post(t, a.qp, &swap)
	post(t, a.qp, &swap)
	a.want(t, 2, verbs.StatusOK)
	if buf[8] != 77 {
		t.Errorf("compare and swap gave %d", buf[8])
	}
}

// TestSendRecv: messages of all sizes there and back.
func TestSendRecv(t *testing.T) {
	t.Run("one process", func(t *testing.T) {
		a, b := joined(t, verbs.QPAttr{Type: verbs.RC})
		for _, n := range []int{0, 1, 8, 64, 4096, 100000, 1 << 19} {
			fill(a.mem.Bytes()[:n], byte(n))
			postRecv(t, b.qp, 5, b.mr.SGE(0, 1<<19))
			post(t, a.qp, &verbs.SendWR{ID: 7, Op: verbs.OpSendImm, Imm: 0xdeadbeef, Flags: verbs.Signaled, SGEs: []verbs.SGE{a.mr.SGE(0, n)}})
			wc := b.want(t, 1, verbs.StatusOK)[0]
			if wc.ID != 5 || wc.Op != verbs.OpRecv || wc.ByteLen != uint32(n) || wc.Imm != 0xdeadbeef || wc.Flags != verbs.WithImm || wc.QPN != b.qp.QPN() {
				t.Errorf("%d bytes: %+v", n, wc)
			}
			if !bytes.Equal(a.mem.Bytes()[:n], b.mem.Bytes()[:n]) {
				t.Errorf("%d bytes came wrong", n)
			}
			if wc := a.want(t, 1, verbs.StatusOK)[0]; wc.ID != 7 {
				t.Errorf("%+v", wc)
			}
		}
	})
	t.Run("two processes", func(t *testing.T) {
		a := made(t, verbs.QPAttr{Type: verbs.RC}, 1<<20, all)
		spawn(t, "echo").meet(t, a)
		for _, n := range []int{0, 1, 8, 64, 4096, 65536} {
			fill(a.mem.Bytes()[:n], byte(n))
			postRecv(t, a.qp, 5, a.mr.SGE(1<<19, 1<<16))
			post(t, a.qp, &verbs.SendWR{ID: 7, Op: verbs.OpSend, SGEs: []verbs.SGE{a.mr.SGE(0, n)}})
			if wc := a.want(t, 1, verbs.StatusOK)[0]; wc.ID != 5 || wc.ByteLen != uint32(n) {
				t.Errorf("%d bytes: %+v", n, wc)
			}
			if !bytes.Equal(a.mem.Bytes()[:n], a.mem.Bytes()[1<<19:][:n]) {
				t.Errorf("%d bytes came back wrong", n)
			}
		}
	})
}

// TestWriteImm: the WRITE is in memory when its completion is there (V5).
func TestWriteImm(t *testing.T) {
	a, b := joined(t, verbs.QPAttr{Type: verbs.RC})
	fill(a.mem.Bytes()[:100], 1)
	postRecv(t, b.qp, 3)
	peer := b.hello()
	post(t, a.qp, &verbs.SendWR{ID: 7, Op: verbs.OpWriteImm, Imm: 42, Flags: verbs.Signaled, SGEs: []verbs.SGE{a.mr.SGE(0, 100)}, RemoteAddr: peer.Addr, RKey: peer.RKey})
	if wc := b.want(t, 1, verbs.StatusOK)[0]; wc.ID != 3 || wc.Op != verbs.OpRecvWriteImm || wc.ByteLen != 100 || wc.Imm != 42 {
		t.Errorf("%+v", wc)
	}
	if !bytes.Equal(a.mem.Bytes()[:100], b.mem.Bytes()[:100]) {
		t.Error("the data came wrong")
	}
	a.want(t, 1, verbs.StatusOK)
}

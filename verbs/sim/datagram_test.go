package sim_test

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"heddle/ib"
	"heddle/verbs"
	"heddle/verbs/sim"
)

const qkey ib.QKey = 0x1234

// datagramSide is a side with a connected UD queue pair.
func datagramSide(t testing.TB, n *sim.Network, name string, a verbs.QPAttr) *side {
	t.Helper()
	s := newSide(t, n, name)
	a.Type, a.QKey = verbs.UD, qkey
	s.create(a)
	must(t, s.qp.Connect(t.Context(), nil))
	return s
}

// TestDatagram: the data comes after 40 bytes, with where it is from (V10).
func TestDatagram(t *testing.T) {
	n := network(t, sim.Config{})
	x, y := datagramSide(t, n, "x", verbs.QPAttr{}), datagramSide(t, n, "y", verbs.QPAttr{})
	ah, qpn, key, err := x.pd.ResolveAH(y.qp.Endpoint())
	must(t, err)
	defer ah.Close() //nolint:errcheck // it cannot fail
	fill(x.mem.Bytes()[:4096], 3)
	send := func(size int, key ib.QKey) {
		x.post(verbs.SendWR{
			Op: verbs.OpSendImm, Imm: 77, Flags: verbs.Signaled, SGEs: []verbs.SGE{x.mr.SGE(0, size)},
			AH: ah, RemoteQPN: qpn, RemoteQKey: key,
		})
		x.ok()
	}
	y.recv(1, y.mr.SGE(0, 40+100))
	send(101, key)         // too long for the buffer
	send(100, key^1)       // another key
	send(100, 0x8000_0000) // the QP's own key
	if wc := y.ok(); wc.ID != 1 || wc.ByteLen != 140 || wc.Imm != 77 || wc.SrcQPN != x.qp.QPN() || wc.Flags != verbs.WithImm|verbs.WithGRH {
		t.Errorf("%+v", wc)
	}
	if !bytes.Equal(y.mem.Bytes()[40:140], x.mem.Bytes()[:100]) || y.mem.Bytes()[140] != 0 {
		t.Error("the data differs")
	}
	gid := ib.NewGID(ib.DefaultPrefix, x.ctx.Attr().NodeGUID)
	if got := ib.GID(y.mem.Bytes()[8:24]); got != gid {
		t.Errorf("from %v, want %v", got, gid)
	}
	x.post(verbs.SendWR{Op: verbs.OpSend, SGEs: []verbs.SGE{x.mr.SGE(0, 4097)}, AH: ah, RemoteQPN: qpn, RemoteQKey: key})
	if wc := x.completions(1)[0]; wc.Status != verbs.StatusLocalLength {
		t.Errorf("more than the MTU: %v", wc.Status)
	}
	if s, _ := x.qp.State(); s != verbs.SQE {
		t.Errorf("state %v, want SQE", s)
	}
	must(t, x.qp.Modify(verbs.RTS))
	y.recv(2, y.mr.SGE(0, 4096+40))
	send(4096, key)
	if wc := y.ok(); wc.ByteLen != 4136 {
		t.Errorf("%+v", wc)
	}
}

// TestMulticast: all of a group get a copy, the sender's own QP unless it blocks
// loopback (V10).
func TestMulticast(t *testing.T) {
	for _, block := range []bool{false, true} {
		n := network(t, sim.Config{})
		group := ib.MustParseMGID("ff12::1:2")
		var sides []*side
		for i := range 3 {
			s := datagramSide(t, n, fmt.Sprint("d", i), verbs.QPAttr{BlockLoopback: block})
			must(t, s.qp.Attach(group, 0))
			s.recv(uint64(i), s.mr.SGE(0, 1000))
			sides = append(sides, s)
		}
		must(t, sides[2].qp.Detach(group, 0))
		if err := sides[2].qp.Detach(group, 0); !errors.Is(err, verbs.ErrNotFound) {
			t.Errorf("detached twice: %v", err)
		}
		x := sides[0]
		ah := get[verbs.AH](t)(x.pd.CreateAH(verbs.AHAttr{GID: group.GID()}))
		x.post(verbs.SendWR{Op: verbs.OpSend, SGEs: []verbs.SGE{x.mr.SGE(0, 10)}, AH: ah, RemoteQPN: 0xffffff, RemoteQKey: qkey})
		n.Settle(1000)
		must(t, ah.Close())
		for i, want := range []int{1, 1, 0} {
			if i == 0 && block {
				want = 0
			}
			if got, err := sides[i].cq.Poll(make([]verbs.WC, 4)); got != want || err != nil {
				t.Errorf("block %v: device %d got %d, want %d, %v", block, i, got, want, err)
			}
		}
	}
}

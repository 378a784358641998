//go:build linux && amd64

package ibv_test

import (
	"bytes"
	"errors"
	"math"
	"slices"
	"strings"
	"syscall"
	"testing"

	"heddle/ib"
	"heddle/verbs"
)

// testErrors are the requests that a peer must refuse, and what comes after.
func testErrors(t *testing.T, device string) {
	tests := []struct {
		name string
		wr   func(r *rig, wr *verbs.SendWR)
		want []verbs.Status
	}{
		{"wrong rkey", func(r *rig, wr *verbs.SendWR) { wr.RKey += 0x100 }, []verbs.Status{verbs.StatusRemoteAccess}},
		{"past the end", func(r *rig, wr *verbs.SendWR) { wr.RemoteAddr = r.mr.Addr() + uint64(r.mr.Len()) - 4 }, []verbs.Status{verbs.StatusRemoteAccess}},
		{"address that wraps", func(_ *rig, wr *verbs.SendWR) { wr.RemoteAddr = math.MaxUint64 - 3 }, []verbs.Status{verbs.StatusRemoteAccess}},
		{"read of a wrong rkey", func(r *rig, wr *verbs.SendWR) { wr.Op, wr.RKey = verbs.OpRead, wr.RKey+0x100 }, []verbs.Status{verbs.StatusRemoteAccess}},
		{"wrong lkey", func(_ *rig, wr *verbs.SendWR) { wr.SGEs[0].LKey += 0x100 }, []verbs.Status{verbs.StatusLocalProtection, verbs.StatusLocalQPOperation}}, // rxe says the latter
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := newRig(t, device)
			near, _ := r.pair(verbs.QPAttr{})
			target := r.bytes(4096, 64)
			copy(target, "untouched")
			wr := verbs.SendWR{ID: 1, Op: verbs.OpWrite, SGEs: []verbs.SGE{r.mr.SGE(0, 8)}, RemoteAddr: r.mr.Addr() + 4096, RKey: r.mr.RKey()}
			test.wr(r, &wr)
			wc := r.do(near, &wr)
			if !slices.Contains(test.want, wc.Status) || wc.ID != 1 {
				t.Errorf("%+v, want one of %v", wc, test.want)
			}
			if !bytes.HasPrefix(target, []byte("untouched")) {
				t.Errorf("memory: %q", target)
			}
			if s, err := near.State(); s != verbs.Err || err != nil {
				t.Errorf("state %v, %v", s, err)
			}
		})
	}
	testUnalignedAtomic(t, newRig(t, device))
	testRNR(t, newRig(t, device))
}

// testUnalignedAtomic is refused (case V8): by the peer, or by the driver at once.
func testUnalignedAtomic(t *testing.T, r *rig) {
	near, _ := r.pair(verbs.QPAttr{})
	err := near.PostSend(&verbs.SendWR{
		Op: verbs.OpFetchAdd, Flags: verbs.Signaled, Swap: 1, SGEs: []verbs.SGE{r.mr.SGE(0, 8)},
		RemoteAddr: r.mr.Addr() + 4, RKey: r.mr.RKey(),
	})
	if errors.Is(err, verbs.ErrInvalid) {
		return
	}
	mustDo(t, err)
	if wc := completions(t, r.cq, 1)[0]; wc.Status != verbs.StatusRemoteInvalidRequest {
		t.Errorf("unaligned atomic: %+v", wc)
	}
}

// testRNR sends to a peer without a receive (case V1).
func testRNR(t *testing.T, r *rig) {
	near, _ := r.pair(verbs.QPAttr{RNRRetries: verbs.Times(1)})
	if wc := r.do(near, &verbs.SendWR{ID: 5, Op: verbs.OpSend, SGEs: []verbs.SGE{r.mr.SGE(0, 8)}}); wc.Status != verbs.StatusRNRRetryExceeded || wc.ID != 5 {
		t.Errorf("without a receive: %+v", wc)
	}
	near, far := r.pair(verbs.QPAttr{})
	mustDo(t, near.PostSend(&verbs.SendWR{Op: verbs.OpSend, Flags: verbs.Signaled, SGEs: []verbs.SGE{r.mr.SGE(0, 8)}}))
	r.recv(far, 1, 1000, 8)
	r.succeed(2)
}

// testStates is the state machine, and what an error flushes (case V2).
func testStates(t *testing.T, device string) {
	r := newRig(t, device)
	near, far := r.qp(verbs.QPAttr{}), r.qp(verbs.QPAttr{})
	state := func(want verbs.QPState) {
		t.Helper()
		if s, err := near.State(); s != want || err != nil {
			t.Errorf("state %v, %v, want %v", s, err, want)
		}
	}
	state(verbs.Init)
	if err := near.PostSend(&verbs.SendWR{Op: verbs.OpSend}); !errors.Is(err, verbs.ErrState) {
		t.Errorf("send in INIT: %v", err)
	}
	for _, hello := range [][]byte{nil, []byte("x"), bytes.Repeat([]byte{0xff}, len(far.Endpoint()))} {
		if err := near.Connect(t.Context(), hello); !errors.Is(err, verbs.ErrInvalid) {
			t.Errorf("connect to %q: %v", hello, err)
		}
	}
	state(verbs.Init)
	mustDo(t, near.Connect(t.Context(), far.Endpoint()))
	state(verbs.RTS)
	if err := near.Connect(t.Context(), far.Endpoint()); !errors.Is(err, verbs.ErrState) {
		t.Errorf("connect again: %v", err)
	}
	for i := range 3 {
		r.recv(near, uint64(i), 1000, 8)
	}
	mustDo(t, near.Modify(verbs.Err))
	for i, wc := range completions(t, r.cq, 3) {
		if wc.Status != verbs.StatusFlushed || wc.ID != uint64(i) {
			t.Errorf("flushed: %+v", wc)
		}
	}
	mustDo(t, near.PostSend(&verbs.SendWR{ID: 9, Op: verbs.OpSend, Flags: verbs.Signaled}))
	if wc := completions(t, r.cq, 1)[0]; wc.Status != verbs.StatusFlushed || wc.ID != 9 {
		t.Errorf("posted in error: %+v", wc)
	}
	mustDo(t, near.Modify(verbs.Reset))
	if err := near.PostRecv(&verbs.RecvWR{}); !errors.Is(err, verbs.ErrState) {
		t.Errorf("receive in RESET: %v", err)
	}
	mustDo(t, near.Modify(verbs.Init))
	mustDo(t, near.Connect(t.Context(), far.Endpoint()))
	mustDo(t, far.Connect(t.Context(), near.Endpoint()))
	r.recv(far, 1, 1000, 8)
	mustDo(t, near.PostSend(&verbs.SendWR{Op: verbs.OpSend, Flags: verbs.Signaled}))
	r.succeed(2)
}

// testGIDs is case V11, and the GID that is chosen.
func testGIDs(t *testing.T, device string) {
	r := newRig(t, device)
	q := r.qp(verbs.QPAttr{})
	if a := q.Attr(); a.GIDType != verbs.GIDRoCEv2 || a.GID != ib.MustParseGID("::ffff:10.9.8.1") {
		t.Errorf("chosen: %v (%v)", a.GID, a.GIDType)
	}
	first, err := r.ctx.GID(1, 0)
	mustDo(t, err)
	if !first.GID.IsLinkLocal() || first.Device != "d0" {
		t.Errorf("first GID: %+v", first)
	}
	if _, err := r.ctx.GID(1, 40); !errors.Is(err, verbs.ErrNotFound) {
		t.Errorf("an empty entry: %v", err)
	}
	_, err = r.pd.CreateQP(verbs.QPAttr{Type: verbs.RC, SendCQ: r.cq, RecvCQ: r.cq, GID: ib.MustParseGID("::ffff:10.1.1.1")})
	if !errors.Is(err, verbs.ErrNotFound) || !strings.Contains(err.Error(), "10.1.1.1") || !strings.Contains(err.Error(), "10.9.8.1 (RoCE v2)") {
		t.Errorf("a GID that is not there: %v", err)
	}
	local := r.qp(verbs.QPAttr{GID: first.GID})
	if err := q.Connect(t.Context(), local.Endpoint()); !errors.Is(err, verbs.ErrInvalid) || !strings.Contains(err.Error(), "IPv4") {
		t.Errorf("from IPv4 to IPv6: %v", err)
	}
	_, err = r.pd.CreateAH(verbs.AHAttr{Source: ib.MustParseGID("::ffff:10.1.1.1"), GID: first.GID})
	if !errors.Is(err, verbs.ErrNotFound) || !strings.Contains(err.Error(), "10.1.1.1") {
		t.Errorf("an address from a GID that is not there: %v", err)
	}
	if _, err := r.pd.CreateQP(verbs.QPAttr{Type: verbs.RC, SendCQ: r.cq, RecvCQ: r.cq, PKey: 0x1234}); !errors.Is(err, verbs.ErrNotFound) {
		t.Errorf("a P_Key that is not there: %v", err)
	}
}

// testMemlock is the last test: once threads have had other users, the kernel no
// longer takes what they write to a file of RDMA that another thread opened.
func testMemlock(t *testing.T, device string) {
	r := newRig(t, device)
	const limit, rlimitMemlock, nobody = 64 << 10, 8, 65534
	var was syscall.Rlimit
	mustDo(t, syscall.Getrlimit(rlimitMemlock, &was))
	mustDo(t, syscall.Setrlimit(rlimitMemlock, &syscall.Rlimit{Cur: limit, Max: was.Max}))
	mustDo(t, syscall.Setreuid(-1, nobody))
	_, err := r.pd.RegisterMR(r.mem, rigAccess)
	mustDo(t, syscall.Setreuid(-1, 0))
	mustDo(t, syscall.Setrlimit(rlimitMemlock, &was))
	var memlock *verbs.MemlockError
	if !errors.As(err, &memlock) || memlock.Limit != limit || memlock.Need != 1<<20 {
		t.Errorf("beyond the limit of locked memory: %v", err)
	}
	if _, err := r.pd.RegisterMR(r.mem, verbs.RemoteWrite); !errors.Is(err, verbs.ErrInvalid) {
		t.Errorf("remote without local writes: %v", err)
	}
}

//go:build amd64

package ibv_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"heddle/ib"
	"heddle/verbs"
	"heddle/verbs/ibv"
)

// patience is how long a test waits for what has to come.
const patience = 20 * time.Second

func mustDo(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// rig is an opened device with one of each.
type rig struct {
	t   testing.TB
	ctx verbs.Context
	pd  verbs.PD
	cq  verbs.CQ
	mem *verbs.Memory
	mr  verbs.MR
}

const rigAccess = verbs.LocalWrite | verbs.RemoteRead | verbs.RemoteWrite | verbs.RemoteAtomic

func openDevice(t testing.TB, name string) verbs.Context {
	t.Helper()
	ctx, err := open(name)
	mustDo(t, err)
	return ctx
}

func open(name string) (verbs.Context, error) {
	devices, err := (&ibv.Provider{}).Devices()
	if err != nil {
		return nil, err
	}
	for _, d := range devices {
		if d.Name() == name {
			return d.Open()
		}
	}
	return nil, fmt.Errorf("no %s among %d devices", name, len(devices))
}

func newRig(t testing.TB, device string) *rig {
	t.Helper()
	r := &rig{t: t, ctx: openDevice(t, device)}
	var err error
	r.pd, err = r.ctx.AllocPD()
	mustDo(t, err)
	r.cq, err = r.ctx.CreateCQ(verbs.CQAttr{Depth: 256})
	mustDo(t, err)
	r.mem, err = verbs.NewMemory(1 << 20)
	mustDo(t, err)
	r.mr, err = r.pd.RegisterMR(r.mem, rigAccess)
	mustDo(t, err)
	r.later(r.ctx.Close, r.pd.Close, r.cq.Close, r.mem.Close, r.mr.Close)
	return r
}

// later closes at the end of the test, the last one first.
func (r *rig) later(closers ...func() error) {
	for _, c := range closers {
		r.t.Cleanup(func() {
			if err := c(); err != nil {
				r.t.Error(err)
			}
		})
	}
}

// qp makes a QP; what is not said is the rig's.
func (r *rig) qp(a verbs.QPAttr) verbs.QP {
	r.t.Helper()
	if a.Type == 0 {
		a.Type = verbs.RC
	}
	if a.SendCQ == nil {
		a.SendCQ = r.cq
	}
	if a.RecvCQ == nil {
		a.RecvCQ = r.cq
	}
	q, err := r.pd.CreateQP(a)
	mustDo(r.t, err)
	r.later(q.Close)
	return q
}

// pair is two QPs that are connected with each other.
func (r *rig) pair(a verbs.QPAttr) (near, far verbs.QP) {
	r.t.Helper()
	near, far = r.qp(a), r.qp(a)
	mustDo(r.t, near.Connect(r.t.Context(), far.Endpoint()))
	mustDo(r.t, far.Connect(r.t.Context(), near.Endpoint()))
	return near, far
}

func (r *rig) bytes(from, n int) []byte { return r.mem.Bytes()[from : from+n] }

func (r *rig) recv(q interface{ PostRecv(*verbs.RecvWR) error }, id uint64, offset, n int) {
	r.t.Helper()
	mustDo(r.t, q.PostRecv(&verbs.RecvWR{ID: id, SGEs: []verbs.SGE{r.mr.SGE(offset, n)}}))
}

// completions waits for n of a CQ.
func completions(t testing.TB, q verbs.CQ, n int) []verbs.WC {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var all []verbs.WC
	wcs := make([]verbs.WC, n)
	for len(all) < n {
		got, err := verbs.Await(ctx, q, wcs[:n-len(all)])
		if err != nil {
			t.Fatalf("after %d of %d completions: %v", len(all), n, err)
		}
		all = append(all, wcs[:got]...)
	}
	return all
}

// succeed waits for n completions and wants them to be good.
func (r *rig) succeed(n int) []verbs.WC {
	r.t.Helper()
	wcs := completions(r.t, r.cq, n)
	for i := range wcs {
		if err := wcs[i].Err(); err != nil {
			r.t.Error(err)
		}
	}
	return wcs
}

// do posts a request, and gives its completion.
func (r *rig) do(q verbs.QP, wr *verbs.SendWR) verbs.WC {
	r.t.Helper()
	wr.Flags |= verbs.Signaled
	mustDo(r.t, q.PostSend(wr))
	return completions(r.t, r.cq, 1)[0]
}

// of gives the completion of one QP among several.
func of(t testing.TB, wcs []verbs.WC, q verbs.QP) verbs.WC {
	t.Helper()
	for _, wc := range wcs {
		if wc.QPN == q.QPN() {
			return wc
		}
	}
	t.Fatalf("no completion of QP %d in %+v", q.QPN(), wcs)
	return verbs.WC{}
}

// event waits for an event of a type.
func event(t testing.TB, c verbs.Context, want verbs.EventType) verbs.Event {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for {
		e, err := c.Event(ctx)
		if err != nil {
			t.Fatalf("waiting for %v: %v", want, err)
		}
		if e.Type == want {
			return e
		}
		t.Logf("also: %v", e.Type)
	}
}

const testQKey ib.QKey = 0x1234567

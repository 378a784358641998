//go:build linux && amd64

package ibv_test

import (
	"context"
	"errors"
	"os/exec"
	"sync"
	"testing"
	"time"

	"heddle/verbs"
)

// testWaiting waits for completions by the channel, solicited or not.
func testWaiting(t *testing.T, device string) {
	r := newRig(t, device)
	near, far := r.pair(verbs.QPAttr{})
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := r.cq.Wait(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("wait for nothing: %v", err)
	}
	for i := range 20 {
		r.recv(far, uint64(i), 1000, 8)
		flags := verbs.Signaled
		if i%2 == 1 {
			flags |= verbs.Solicited
		}
		mustDo(t, r.cq.Arm(i%2 == 1))
		mustDo(t, near.PostSend(&verbs.SendWR{Op: verbs.OpSend, Flags: flags, SGEs: []verbs.SGE{r.mr.SGE(0, 8)}}))
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		if err := r.cq.Wait(ctx); err != nil {
			t.Fatalf("wait %d: %v", i, err)
		}
		cancel()
		r.succeed(2)
	}
}

func testSRQ(t *testing.T, device string) {
	r := newRig(t, device)
	srq, err := r.pd.CreateSRQ(verbs.SRQAttr{WR: 16})
	mustDo(t, err)
	r.later(srq.Close)
	attr := verbs.QPAttr{SRQ: srq}
	near1, _ := r.pair(attr)
	near2, _ := r.pair(attr)
	for i := range 4 {
		r.recv(srq, uint64(i), 1000*(i+1), 8)
	}
	mustDo(t, srq.Limit(3))
	for _, q := range []verbs.QP{near1, near2} {
		mustDo(t, q.PostSend(&verbs.SendWR{ID: 100, Op: verbs.OpSend, Flags: verbs.Signaled, SGEs: []verbs.SGE{r.mr.SGE(0, 8)}}))
		r.succeed(2)
	}
	if e := event(t, r.ctx, verbs.EventSRQLimit); e.SRQ != srq {
		t.Errorf("%+v", e)
	}
	if err := near1.PostRecv(&verbs.RecvWR{}); !errors.Is(err, verbs.ErrInvalid) {
		t.Errorf("receive of a QP with an SRQ: %v", err)
	}
	if err := srq.Close(); !errors.Is(err, verbs.ErrBusy) {
		t.Errorf("close an SRQ in use: %v", err)
	}
}

// testOverrun is case V4.
func testOverrun(t *testing.T, device string) {
	r := newRig(t, device)
	small, err := r.ctx.CreateCQ(verbs.CQAttr{Depth: 4})
	mustDo(t, err)
	r.later(small.Close)
	near, _ := r.pair(verbs.QPAttr{SendCQ: small})
	for range small.Depth() + 8 {
		err := near.PostSend(&verbs.SendWR{Op: verbs.OpWrite, Flags: verbs.Signaled, SGEs: []verbs.SGE{r.mr.SGE(0, 8)}, RemoteAddr: r.mr.Addr(), RKey: r.mr.RKey()})
		if errors.Is(err, verbs.ErrState) {
			break
		}
		mustDo(t, err)
	}
	if e := event(t, r.ctx, verbs.EventCQ); e.CQ != small {
		t.Errorf("%+v", e)
	}
	wcs := make([]verbs.WC, 64)
	for {
		n, err := small.Poll(wcs)
		if errors.Is(err, verbs.ErrCQOverrun) {
			break
		}
		if n == 0 || err != nil {
			t.Fatalf("%d completions, %v", n, err)
		}
	}
	if s, err := near.State(); s != verbs.Err || err != nil {
		t.Errorf("state of the QP: %v, %v", s, err)
	}
}

// testClosing closes in the wrong order, twice, and beside who uses it.
func testClosing(t *testing.T, device string) {
	r := newRig(t, device)
	for name, close := range map[string]func() error{"context": r.ctx.Close, "PD": r.pd.Close} {
		if err := close(); !errors.Is(err, verbs.ErrBusy) {
			t.Errorf("close the %s: %v", name, err)
		}
	}
	q, err := r.ctx.CreateCQ(verbs.CQAttr{Depth: 16})
	mustDo(t, err)
	near, far := r.pair(verbs.QPAttr{SendCQ: q})
	if err := q.Close(); !errors.Is(err, verbs.ErrBusy) {
		t.Errorf("close the CQ: %v", err)
	}
	var users sync.WaitGroup
	users.Go(func() { untilClosed(t, func() error { return q.Wait(t.Context()) }) })
	users.Go(func() {
		untilClosed(t, func() error {
			_, err := q.Poll(make([]verbs.WC, 4))
			return err
		})
	})
	users.Go(func() { untilClosed(t, func() error { return q.Arm(false) }) })
	users.Go(func() {
		untilClosed(t, func() error {
			err := near.PostSend(&verbs.SendWR{Op: verbs.OpWrite, SGEs: []verbs.SGE{r.mr.SGE(0, 8)}, RemoteAddr: r.mr.Addr(), RKey: r.mr.RKey()})
			if errors.Is(err, verbs.ErrQueueFull) {
				return nil
			}
			return err
		})
	})
	for _, c := range []func() error{near.Close, near.Close, far.Close, q.Close, q.Close} {
		mustDo(t, c())
	}
	users.Wait()
	if _, err := near.State(); !errors.Is(err, verbs.ErrClosed) {
		t.Errorf("state of a closed QP: %v", err)
	}
}

// untilClosed calls until the object is closed.
func untilClosed(t *testing.T, call func() error) {
	for {
		err := call()
		if errors.Is(err, verbs.ErrClosed) {
			return
		}
		if err != nil {
			t.Error(err)
			return
		}
	}
}

func testAllocations(t *testing.T, device string) {
	r := newRig(t, device)
	near, far := r.pair(verbs.QPAttr{})
	wcs := make([]verbs.WC, 4)
	recv := verbs.RecvWR{SGEs: []verbs.SGE{r.mr.SGE(1000, 8)}}
	send := verbs.SendWR{Op: verbs.OpSend, SGEs: []verbs.SGE{r.mr.SGE(0, 8)}}
	sends, recvs := []verbs.SendWR{send}, []verbs.RecvWR{recv}
	allocs := testing.AllocsPerRun(20, func() {
		mustDo(t, far.PostRecv(&recv))
		mustDo(t, near.PostSend(&send))
		if _, err := far.PostRecvs(recvs); err != nil {
			t.Error(err)
		}
		if _, err := near.PostSends(sends); err != nil {
			t.Error(err)
		}
		mustDo(t, r.cq.Arm(false))
		for n := 0; n < 2; {
			got, err := r.cq.Poll(wcs)
			mustDo(t, err)
			n += got
		}
	})
	if allocs != 0 {
		t.Errorf("%v allocations", allocs)
	}
}

// testLinkEvents takes the network interface below the device down and up.
func testLinkEvents(t *testing.T, device string) {
	c := openDevice(t, device)
	defer c.Close()
	for _, step := range []struct {
		link string
		want verbs.EventType
		port verbs.PortState
	}{
		{"down", verbs.EventPortError, verbs.PortDown},
		{"up", verbs.EventPortActive, verbs.PortActive},
	} {
		if out, err := exec.Command("ip", "link", "set", "d0", step.link).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		if e := event(t, c, step.want); e.Port != 1 {
			t.Errorf("%+v", e)
		}
		if port, err := c.Port(1); port.State != step.port || err != nil {
			t.Errorf("port %v, %v, want %v", port.State, err, step.port)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Event(ctx); err != nil && !errors.Is(err, context.Canceled) {
		t.Errorf("event: %v", err)
	}
}

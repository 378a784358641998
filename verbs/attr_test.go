package verbs_test

import (
	"context"
	"errors"
	"testing"

	"heddle/verbs"
)

// cq is a CQ with nothing in it but what poll gives.
type cq struct {
	verbs.CQ
	poll []int
	arms int
}

func (c *cq) Poll([]verbs.WC) (n int, err error) {
	n, c.poll = c.poll[0], c.poll[1:]
	return n, nil
}

func (c *cq) Arm(bool) error { c.arms++; return nil }

func (c *cq) Wait(ctx context.Context) error { return ctx.Err() }

func limits() verbs.DeviceAttr {
	return verbs.DeviceAttr{Ports: 1, MaxQPWR: 128, MaxSRQWR: 128, MaxSGE: 4, MaxInline: 64, MaxReads: 8}
}

func all() (c verbs.Caps) {
	c.Ops[verbs.RC] = verbs.OpsOf(verbs.OpSend, verbs.OpWrite, verbs.OpRead, verbs.OpFetchAdd)
	c.Ops[verbs.UD] = verbs.OpsOf(verbs.OpSend)
	return c
}

func TestQPAttrFilled(t *testing.T) {
	q := &cq{}
	good := verbs.QPAttr{Type: verbs.RC, SendCQ: q, RecvCQ: q}
	a, err := good.Filled(limits(), all())
	if err != nil || a.SendWR != 64 || a.Reads != 8 || a.Port != 1 || a.Retries.Count() != 7 || a.RNRRetries.Count() != 7 {
		t.Errorf("%+v, %v", a, err)
	}
	for name, test := range map[string]struct {
		change func(a *verbs.QPAttr)
		want   error
	}{
		"too long":       {func(a *verbs.QPAttr) { a.SendWR = 129 }, verbs.ErrInvalid},
		"negative":       {func(a *verbs.QPAttr) { a.RecvWR = -1 }, verbs.ErrInvalid},
		"SGEs":           {func(a *verbs.QPAttr) { a.RecvSGE = 5 }, verbs.ErrInvalid},
		"inline":         {func(a *verbs.QPAttr) { a.Inline = 65 }, verbs.ErrInvalid},
		"port":           {func(a *verbs.QPAttr) { a.Port = 2 }, verbs.ErrInvalid},
		"retries (V11)":  {func(a *verbs.QPAttr) { a.Retries = verbs.Times(8) }, verbs.ErrInvalid},
		"many retries":   {func(a *verbs.QPAttr) { a.RNRRetries = verbs.Times(1000) }, verbs.ErrInvalid},
		"no CQ":          {func(a *verbs.QPAttr) { a.RecvCQ = nil }, verbs.ErrInvalid},
		"no such type":   {func(a *verbs.QPAttr) { a.Type = 9 }, verbs.ErrNotSupported},
		"no UC":          {func(a *verbs.QPAttr) { a.Type = verbs.UC }, verbs.ErrNotSupported},
		"SRQ":            {func(a *verbs.QPAttr) { a.SRQ = new(struct{ verbs.SRQ }) }, verbs.ErrNotSupported},
		"loopback":       {func(a *verbs.QPAttr) { a.BlockLoopback = true }, verbs.ErrNotSupported},
		"no retry is ok": {func(a *verbs.QPAttr) { a.Retries = verbs.Times(0) }, nil},
	} {
		a := good
		test.change(&a)
		if _, err := a.Filled(limits(), all()); !errors.Is(err, test.want) {
			t.Errorf("%s: %v, want %v", name, err, test.want)
		}
	}
}

func TestSendWRCheck(t *testing.T) {
	caps := all()
	attr := verbs.QPAttr{Type: verbs.RC, SendSGE: 2, Inline: 8}
	for name, test := range map[string]struct {
		wr   verbs.SendWR
		want error
	}{
		"write":           {verbs.SendWR{Op: verbs.OpWrite, SGEs: make([]verbs.SGE, 2)}, nil},
		"no SGE":          {verbs.SendWR{Op: verbs.OpWrite}, nil},
		"three SGEs":      {verbs.SendWR{Op: verbs.OpWrite, SGEs: make([]verbs.SGE, 3)}, verbs.ErrTooManySGEs},
		"inline":          {verbs.SendWR{Op: verbs.OpSend, Flags: verbs.Inline, InlineData: make([]byte, 8)}, nil},
		"long inline V7":  {verbs.SendWR{Op: verbs.OpSend, Flags: verbs.Inline, InlineData: make([]byte, 9)}, verbs.ErrInlineLength},
		"inline read":     {verbs.SendWR{Op: verbs.OpRead, Flags: verbs.Inline}, verbs.ErrInvalid},
		"no such op":      {verbs.SendWR{Op: verbs.OpCompareSwap}, verbs.ErrNotSupported},
		"op out of range": {verbs.SendWR{Op: 200}, verbs.ErrNotSupported},
	} {
		if err := test.wr.Check(&attr, &caps); !errors.Is(err, test.want) {
			t.Errorf("%s: %v, want %v", name, err, test.want)
		}
	}
	caps.Ops[verbs.RC] |= verbs.OpsOf(verbs.OpBind)
	mw, mr := new(struct{ verbs.MW }), new(struct{ verbs.MR })
	bind := verbs.SendWR{Op: verbs.OpBind, MW: mw, BindMR: mr, SGEs: make([]verbs.SGE, 1), BindAccess: verbs.RemoteRead | verbs.RemoteWrite}
	for name, change := range map[string]func(wr *verbs.SendWR){
		"no window":     func(wr *verbs.SendWR) { wr.MW = nil },
		"no MR":         func(wr *verbs.SendWR) { wr.BindMR = nil },
		"no place":      func(wr *verbs.SendWR) { wr.SGEs = nil },
		"two places":    func(wr *verbs.SendWR) { wr.SGEs = make([]verbs.SGE, 2) },
		"local rights":  func(wr *verbs.SendWR) { wr.BindAccess |= verbs.LocalWrite },
		"inline":        func(wr *verbs.SendWR) { wr.Flags = verbs.Inline },
		"right to bind": func(wr *verbs.SendWR) { wr.BindAccess |= verbs.WindowBind },
	} {
		wr := bind
		change(&wr)
		if err := wr.Check(&attr, &caps); !errors.Is(err, verbs.ErrInvalid) {
			t.Errorf("bind, %s: %v", name, err)
		}
	}
	if err := bind.Check(&attr, &caps); err != nil {
		t.Errorf("bind: %v", err)
	}
	datagram := verbs.QPAttr{Type: verbs.UD}
	if err := (&verbs.SendWR{Op: verbs.OpSend}).Check(&datagram, &caps); !errors.Is(err, verbs.ErrInvalid) {
		t.Errorf("a datagram without address: %v", err)
	}
	if err := (&verbs.RecvWR{SGEs: make([]verbs.SGE, 2)}).Check(1); !errors.Is(err, verbs.ErrTooManySGEs) {
		t.Errorf("two SGEs: %v", err)
	}
}

// TestAwaitPollsAfterArm: what comes between a Poll and Arm makes no event.
func TestAwaitPollsAfterArm(t *testing.T) {
	q := &cq{poll: []int{0, 2}}
	if n, err := verbs.Await(t.Context(), q, make([]verbs.WC, 4)); n != 2 || err != nil || q.arms != 1 {
		t.Errorf("%d, %v, armed %d times", n, err, q.arms)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	q = &cq{poll: []int{0, 0}}
	if _, err := verbs.Await(ctx, q, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want canceled", err)
	}
}

package verbs

import (
	"cmp"
	"fmt"
	"time"
)

// Filled is the attributes of a QP with the defaults of a device in them. The
// error, of what the device cannot do, wraps ErrInvalid or ErrNotSupported.
func (a QPAttr) Filled(dev DeviceAttr, caps Caps) (QPAttr, error) {
	a.SendWR, a.RecvWR = cmp.Or(a.SendWR, 64), cmp.Or(a.RecvWR, 64)
	a.SendSGE, a.RecvSGE = cmp.Or(a.SendSGE, 1), cmp.Or(a.RecvSGE, 1)
	a.Reads = cmp.Or(a.Reads, min(16, dev.MaxReads))
	a.Port = cmp.Or(a.Port, 1)
	a.Timeout = cmp.Or(a.Timeout, 67*time.Millisecond)
	a.RNRTimer = cmp.Or(a.RNRTimer, 640*time.Microsecond)
	if a.Access == 0 {
		a.Access = RemoteRead | RemoteWrite | RemoteAtomic
	}
	return a, a.check(dev, caps)
}

func (a *QPAttr) check(dev DeviceAttr, caps Caps) error {
	refuse := func(what string, got, limit int) error {
		return &OpError{Verb: "create QP: " + what, Got: got, Limit: limit, Err: ErrInvalid}
	}
	for _, x := range []struct {
		what       string
		got, limit int
	}{
		{"send requests", a.SendWR, dev.MaxQPWR},
		{"receive requests", a.RecvWR, dev.MaxQPWR},
		{"SGEs of a send request", a.SendSGE, dev.MaxSGE},
		{"SGEs of a receive request", a.RecvSGE, dev.MaxSGE},
		{"inline bytes", a.Inline, dev.MaxInline},
		{"READs under way", a.Reads, dev.MaxReads},
		{"port", int(a.Port), int(dev.Ports)},
		{"retries", int(a.Retries.Count()), 7},
		{"RNR retries", int(a.RNRRetries.Count()), 7},
	} {
		if x.got < 0 || x.got > x.limit {
			return refuse(x.what, x.got, x.limit)
		}
	}
	switch {
	case a.Type < RC || a.Type > UD || caps.Ops[a.Type] == 0:
		return &OpError{Verb: fmt.Sprintf("create QP: service %v", a.Type), Err: ErrNotSupported}
	case a.SendCQ == nil || a.RecvCQ == nil:
		return &OpError{Verb: "create QP: a CQ is missing", Err: ErrInvalid}
	case a.SRQ != nil && !caps.SRQ:
		return &OpError{Verb: "create QP: SRQ", Err: ErrNotSupported}
	case a.BlockLoopback && !caps.BlockLoopback:
		return &OpError{Verb: "create QP: BlockLoopback", Err: ErrNotSupported}
	}
	return nil
}

// Filled is the attributes of an SRQ with the defaults in them.
func (a SRQAttr) Filled(dev DeviceAttr) (SRQAttr, error) {
	a.WR, a.SGE = cmp.Or(a.WR, 64), cmp.Or(a.SGE, 1)
	if a.WR < 0 || a.WR > dev.MaxSRQWR {
		return a, &OpError{Verb: "create SRQ: requests", Got: a.WR, Limit: dev.MaxSRQWR, Err: ErrInvalid}
	}
	if a.SGE < 0 || a.SGE > dev.MaxSGE {
		return a, &OpError{Verb: "create SRQ: SGEs", Got: a.SGE, Limit: dev.MaxSGE, Err: ErrInvalid}
	}
	return a, nil
}

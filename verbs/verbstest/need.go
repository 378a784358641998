package verbstest

import (
	"errors"

	"heddle/verbs"
)

// feature is what a device may have beside operations.
type feature int

const (
	noFeature feature = iota
	featureSRQ
	featureMulticast
	featureBlockLoopback
	featureWindows1
	featureWindows2
	featureDeviceMemory
	featureInline
)

func (f feature) in(caps *verbs.Caps) bool {
	switch f {
	case featureSRQ:
		return caps.SRQ
	case featureMulticast:
		return caps.Multicast
	case featureBlockLoopback:
		return caps.BlockLoopback
	case featureWindows1:
		return caps.Windows1
	case featureWindows2:
		return caps.Windows2
	case featureDeviceMemory:
		return caps.DeviceMemory
	case featureInline:
		return caps.MaxInline > 0
	case noFeature:
	}
	return true
}

// refused sees to it that what the device lacks is refused, with the error of
// package verbs, and that it goes on after that.
func (n *need) refused(e *env) {
	if n.feature != noFeature {
		e.wants("what the device does not have", e.featureRefused(n.feature), verbs.ErrNotSupported)
		return
	}
	if e.near.caps.Ops[n.service] == 0 {
		c := e.near.cq(4)
		_, err := e.near.pd.CreateQP(verbs.QPAttr{Type: n.service, SendCQ: c.CQ, RecvCQ: c.CQ})
		e.wants("QP of "+n.service.String(), err, verbs.ErrNotSupported)
		return
	}
	a, wr := e.sender(n.service)
	wr.Op, wr.Flags = n.op, verbs.Signaled
	e.wants("post of "+n.op.String(), a.qp.PostSend(&wr), verbs.ErrNotSupported)
	a.is(verbs.RTS)
	a.sends.none("after a refused post")
}

// sender is a QP that is ready to send, and a request without an operation.
func (e *env) sender(service verbs.QPType) (*end, verbs.SendWR) {
	e.Helper()
	if service != verbs.UD {
		a, b := e.pair(service)
		ma, mb := a.memory(64), b.memory(64)
		return a, verbs.SendWR{SGEs: []verbs.SGE{ma.SGE(0, 8)}, RemoteAddr: mb.addr(0), RKey: mb.RKey()}
	}
	a, b := e.near.datagrams(), e.far.datagrams()
	wr := a.to(b)
	wr.SGEs = []verbs.SGE{a.memory(64).SGE(0, 8)}
	return a, wr
}

func (e *env) featureRefused(f feature) (err error) {
	switch f {
	case featureSRQ:
		_, err = e.near.pd.CreateSRQ(verbs.SRQAttr{})
	case featureMulticast:
		if e.near.caps.Ops[verbs.UD] == 0 {
			return verbs.ErrNotSupported // which other tests see refused
		}
		err = e.near.datagrams().qp.Attach(e.suite.Group, e.suite.GroupLID)
	case featureBlockLoopback:
		c := e.near.cq(4)
		_, err = e.near.pd.CreateQP(verbs.QPAttr{Type: verbs.UD, SendCQ: c.CQ, RecvCQ: c.CQ, BlockLoopback: true})
	case featureWindows1:
		return e.windowRefused(verbs.MWType1)
	case featureWindows2:
		return e.windowRefused(verbs.MWType2)
	case featureDeviceMemory:
		if d, ok := e.near.pd.(verbs.DeviceMemoryAllocator); ok {
			_, err = d.AllocDM(4096)
			return err
		}
		return verbs.ErrNotSupported
	case featureInline:
		c := e.near.cq(4)
		_, err = e.near.pd.CreateQP(verbs.QPAttr{Type: verbs.RC, SendCQ: c.CQ, RecvCQ: c.CQ, Inline: 1})
		if errors.Is(err, verbs.ErrInvalid) {
			return verbs.ErrNotSupported // it is beyond a limit of nothing
		}
	case noFeature:
	}
	return err
}

func (e *env) windowRefused(t verbs.MWType) error {
	w, ok := e.near.pd.(verbs.WindowAllocator)
	if !ok {
		return verbs.ErrNotSupported
	}
	_, err := w.AllocMW(t)
	return err
}

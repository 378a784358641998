//go:build linux && (amd64 || arm64)

package ibv

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"unsafe"

	"heddle/verbs"
)

// Connect takes the QP to RTS. The kernel looks for the way to a peer on
// Ethernet, which takes about a second where there is none; the context is looked
// at before and after that.
func (q *qp) Connect(ctx context.Context, peer []byte) error {
	q.change.Lock()
	defer q.change.Unlock()
	if err := q.life.use(func() error { return nil }); err != nil {
		return q.failed("connect", err)
	}
	if q.ctx.iwarp {
		return q.failed("connect", fmt.Errorf("iWARP connects by a connection manager, of which there is none here: %w", verbs.ErrNotSupported))
	}
	if verbs.QPState(q.state.Load()) != verbs.Init {
		return q.failed("connect", verbs.ErrState)
	}
	to, err := q.peer(peer)
	if err != nil {
		return q.failed("connect", err)
	}
	for _, step := range []func(*verbs.EndpointAttr) (*ibvQPAttr, uint32){q.toReceive, q.toSend} {
		if err := ctx.Err(); err != nil {
			return err
		}
		raw, mask := step(to)
		if err := q.life.use(func() error { return q.modify(raw, mask) }); err != nil {
			return q.failed("connect", fmt.Errorf("from GID %v (%v) to %s: %w", q.gid.GID, q.gid.Type, endpointText(to), sentinel(err)))
		}
	}
	if to != nil {
		q.mtu.Store(uint32(min(q.attr.MTU, to.MTU)))
	}
	return nil
}

// peer reads what the peer said, nil of a UD queue pair.
func (q *qp) peer(hello []byte) (*verbs.EndpointAttr, error) {
	if q.attr.Type == verbs.UD {
		if len(hello) > 0 {
			return nil, fmt.Errorf("a UD queue pair has no peer: %w", verbs.ErrInvalid)
		}
		return nil, nil //nolint:nilnil // there is none
	}
	to, err := verbs.ParseEndpoint(hello)
	if err != nil {
		return nil, err
	}
	if to.Type != q.attr.Type {
		return nil, fmt.Errorf("the peer is of service %v: %w", to.Type, verbs.ErrInvalid)
	}
	return &to, reachable(q.link, q.gid, &to)
}

// endpointText says where a QP is.
func endpointText(e *verbs.EndpointAttr) string {
	if e == nil {
		return "nobody"
	}
	return fmt.Sprintf("QP %d at GID %v (%v), LID %d", uint32(e.QPN), e.GID, e.GIDType, uint16(e.LID))
}

// toReceive is the step to RTR.
func (q *qp) toReceive(to *verbs.EndpointAttr) (*ibvQPAttr, uint32) {
	raw := &ibvQPAttr{State: uint32(verbs.RTR)}
	if to == nil {
		return raw, qpStateFlag
	}
	raw.MTU = uint32(min(q.attr.MTU, to.MTU)) // case V12
	raw.DestQPN, raw.RecvPSN = uint32(to.QPN), to.PSN
	raw.AH = q.addressOf(to)
	mask := uint32(qpStateFlag | qpAV | qpPathMTU | qpDestQPN | qpRecvPSN)
	if q.attr.Type == verbs.RC {
		raw.DestReads, raw.RNRTimer = uint8(min(q.attr.Reads, 255)), rnrTimer(q.attr.RNRTimer)
		mask |= qpDestReads | qpRNRTimer
	}
	return raw, mask
}

// toSend is the step to RTS.
func (q *qp) toSend(to *verbs.EndpointAttr) (*ibvQPAttr, uint32) {
	raw := &ibvQPAttr{State: uint32(verbs.RTS), SendPSN: q.psn}
	mask := uint32(qpStateFlag | qpSendPSN)
	if q.attr.Type == verbs.RC {
		raw.Timeout, raw.Retries, raw.RNRRetry = ackTimeout(q.attr.Timeout), q.retries(), q.attr.RNRRetries.Count()
		raw.Reads = uint8(min(q.attr.Reads, q.ctx.attr.MaxReadsInit, int(to.Reads)))
		mask |= qpTimeout | qpRetries | qpRNRRetries | qpReads
	}
	return raw, mask
}

// retries is how often a request is sent again that nobody acknowledges. rxe takes 7
// for no end, as if it were that of RNR, and who sends to a dead peer would never
// learn of it.
func (q *qp) retries() uint8 {
	n := q.attr.Retries.Count()
	if q.ctx.kernel {
		n = min(n, 6)
	}
	return n
}

// addressOf is the way to a peer.
func (q *qp) addressOf(to *verbs.EndpointAttr) ibvAHAttr {
	a := ibvAHAttr{Port: q.attr.Port, SL: uint8(q.attr.SL), DLID: uint16(to.LID)}
	if q.link == verbs.LinkEthernet || to.LID == 0 || to.GID.Prefix() != q.gid.GID.Prefix() {
		a.Global = 1
		a.GRH = ibvGRH{GID: to.GID, GIDIndex: uint8(q.gid.Index), HopLimit: hopLimit}
	}
	return a
}

// hopLimit is how many routers a packet passes where the caller does not say.
const hopLimit = 64

// toInit takes a new QP, or one in RESET, to INIT.
func (q *qp) toInit() error {
	raw := &ibvQPAttr{State: uint32(verbs.Init), PKey: q.pkey, Port: q.attr.Port}
	mask := uint32(qpStateFlag | qpPKey | qpPort)
	if q.attr.Type == verbs.UD {
		raw.QKey = uint32(q.attr.QKey)
		mask |= qpQKey
	} else {
		raw.Access = accessFlags(q.attr.Access)
		mask |= qpAccess
	}
	return q.modify(raw, mask)
}

// modify asks the device for another state, and notes it.
func (q *qp) modify(raw *ibvQPAttr, mask uint32) error {
	lib := q.ctx.lib
	if err := failure(invoke(lib, lib.modifyQP, ptr(q.c), uintptr(unsafe.Pointer(raw)), uintptr(mask))); err != nil {
		return err
	}
	q.state.Store(raw.State)
	return nil
}

// Modify takes the QP to a state that needs no peer.
func (q *qp) Modify(to verbs.QPState) error {
	q.change.Lock()
	defer q.change.Unlock()
	err := q.life.use(func() error {
		if !mayGo(verbs.QPState(q.state.Load()), to) {
			return verbs.ErrState
		}
		if to == verbs.Init {
			return q.toInit()
		}
		err := q.modify(&ibvQPAttr{State: uint32(to)}, qpStateFlag)
		if err == nil && to == verbs.Reset {
			err = q.endWindows()
		}
		if errors.Is(err, syscall.EINVAL) {
			// The device is in another state by itself.
			return fmt.Errorf("%w: %w", verbs.ErrState, err)
		}
		return err
	})
	return q.failed("modify QP to "+to.String(), err)
}

// mayGo tells whether Modify may do that, as far as is known here: a QP that was
// taken to RTS may be in SQE.
func mayGo(from, to verbs.QPState) bool {
	switch to { //nolint:exhaustive // the others need Connect, or are the device's
	case verbs.Reset, verbs.Err:
		return true
	case verbs.Init:
		return from == verbs.Reset
	case verbs.SQD:
		return from == verbs.RTS || from == verbs.SQD
	case verbs.RTS:
		return from == verbs.RTS || from == verbs.SQD
	}
	return false
}

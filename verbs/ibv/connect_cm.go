//go:build linux && (amd64 || arm64)

package ibv

import (
	"fmt"

	"heddle/verbs"
)

var _ verbs.CMConnector = (*qp)(nil)

// ConnectCM takes the QP to RTS as a connection manager says. How long peers wait
// that find no receive, is QPAttr's.
func (q *qp) ConnectCM(a *verbs.CMAttr) error {
	q.change.Lock()
	defer q.change.Unlock()
	if verbs.QPState(q.state.Load()) != verbs.Init {
		return q.failed("connect", verbs.ErrState)
	}
	receive := &ibvQPAttr{
		State: uint32(verbs.RTR), MTU: uint32(a.MTU), DestQPN: uint32(a.DestQPN), RecvPSN: a.RecvPSN,
		AH: managedAddress(a), DestReads: a.ReadsIn, RNRTimer: rnrTimer(q.attr.RNRTimer),
	}
	send := &ibvQPAttr{
		State: uint32(verbs.RTS), SendPSN: a.SendPSN, Timeout: a.Timeout, Retries: a.Retries, RNRRetry: a.RNRRetries, Reads: a.ReadsOut,
	}
	for _, step := range []struct {
		attr *ibvQPAttr
		mask uint32
	}{
		{receive, qpStateFlag | qpAV | qpPathMTU | qpDestQPN | qpRecvPSN | qpDestReads | qpRNRTimer},
		{send, qpStateFlag | qpSendPSN | qpTimeout | qpRetries | qpRNRRetries | qpReads},
	} {
		if err := q.life.use(func() error { return q.modify(step.attr, step.mask) }); err != nil {
			return q.failed("connect", fmt.Errorf("to QP %d at GID %v, LID %d, as the connection manager says: %w", uint32(a.DestQPN), a.GID, uint16(a.DLID), sentinel(err)))
		}
	}
	q.mtu.Store(uint32(a.MTU))
	return nil
}

func managedAddress(a *verbs.CMAttr) ibvAHAttr {
	to := ibvAHAttr{DLID: uint16(a.DLID), SL: uint8(a.SL), PathBits: a.PathBits, Rate: uint8(a.Rate), Port: a.Port}
	if a.Global {
		to.Global = 1
		to.GRH = ibvGRH{GID: a.GID, FlowLabel: a.FlowLabel, GIDIndex: a.GIDIndex, HopLimit: a.HopLimit, Class: a.Class}
	}
	return to
}

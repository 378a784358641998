package verbs

import (
	"context"
	"time"

	"heddle/ib"
)

// QPType is a transport service.
type QPType uint8

// The services: reliable and unreliable connection, unreliable datagram.
const (
	RC QPType = iota + 1
	UC
	UD
)

// QPState is a state of the state machine of IBTA 10.3.1.
type QPState uint8

// The states.
const (
	Reset QPState = iota
	Init
	RTR // ready to receive
	RTS // ready to send
	SQD // the send queue drains
	SQE // the send queue failed; not of RC
	Err
)

// QPAttr is what a QP is to be like, and how it connects. Zero means what the
// comments say.
type QPAttr struct {
	Type           QPType
	SendCQ, RecvCQ CQ
	SRQ            SRQ // nil for a receive queue of its own
	// SendWR and RecvWR are how many requests are posted at once at most, 64 by
	// default; SendSGE and RecvSGE how many SGEs they have, 1 by default.
	SendWR, RecvWR, SendSGE, RecvSGE int
	// Inline is how many bytes of inline data a request has at most. QP.Attr
	// tells what came of it, which may be more.
	Inline int
	// SigAll makes a completion for each request.
	SigAll bool
	// Access is what the peer may do: RemoteRead, RemoteWrite, RemoteAtomic. All
	// of that by default; NoAccess for nothing.
	Access Access
	// Reads is how many READs and atomics are under way, both ways: 16, or what
	// the device can, by default.
	Reads int
	// MTU is that of the path, by default the port's; the smaller one of both
	// ends counts.
	MTU ib.MTU
	// Port and GID are where packets leave by: port 1, and by default the GID of
	// its table that fits the link best. GIDType tells which of equal GIDs is
	// meant; by default the newest type.
	Port    uint8
	GID     ib.GID
	GIDType GIDType
	PKey    ib.PKey // by default the first of the port's
	QKey    ib.QKey // of UD
	SL      ib.SL
	// Timeout is how long an acknowledgement is waited for, 67 ms by default;
	// Retries how often a request is then sent again, 7 times by default.
	Timeout time.Duration
	Retries Retry
	// RNRRetries is how often a SEND is sent again to a peer without a receive:
	// Forever by default. RNRTimer is how long peers wait before that, 0.64 ms by
	// default.
	RNRRetries Retry
	RNRTimer   time.Duration
	// BlockLoopback keeps a UD queue pair's own multicast packets from it. Devices
	// whose Caps do not have it refuse that with ErrNotSupported.
	BlockLoopback bool
}

// Retry is a number of repetitions. Its zero value is the default of its field.
type Retry uint8

// Forever is 7 on the wire, which for RNRRetries has no end. More is refused.
const Forever Retry = 8

// Times is n repetitions, from 0 to 7.
func Times(n int) Retry { return Retry(min(max(n, 0), 254) + 1) }

// Count is the number on the wire; of the default it is 7.
func (r Retry) Count() uint8 {
	if r == 0 {
		r = Forever
	}
	return uint8(r) - 1
}

// NoAccess is the Access of a QP whose peer may do nothing to its memory.
const NoAccess Access = 1 << 7

// QP is a queue pair.
type QP interface {
	QPN() ib.QPN
	Type() QPType
	// State asks the device.
	State() (QPState, error)
	// Attr is the QP as it was made, with what was left to the device. After
	// Connect its MTU is that of the path, where packets are cut at all.
	Attr() QPAttr
	// Endpoint is what the peer's Connect needs, or ResolveAH of a UD queue
	// pair. It is opaque to who carries it, and a secret where memory is.
	Endpoint() []byte
	// Connect takes the QP from INIT, which CreateQP leaves it in, to RTS. A UD
	// queue pair has no peer: it is given nil. Where the peer's words make no
	// sense the error wraps ErrInvalid, and the QP stays as it was; so it does
	// where the context is done already. From another state than INIT the error
	// wraps ErrState.
	Connect(ctx context.Context, peer []byte) error
	// Modify takes the QP to another state without Connect: to Err, Reset, Init,
	// SQD, or from SQD or SQE back to RTS.
	Modify(to QPState) error
	// PostSend gives a request to the device, PostSends several, in order; n are
	// those that it took: where there is an error, wrs[n] is the one that is
	// bad. Nothing after it was looked at. They allocate nothing.
	PostSend(wr *SendWR) error
	PostSends(wrs []SendWR) (n int, err error)
	// PostRecv and PostRecvs do so for buffers, from INIT on.
	PostRecv(wr *RecvWR) error
	PostRecvs(wrs []RecvWR) (n int, err error)
	// Attach has a UD queue pair receive what is sent to a group; lid is 0 where
	// the link layer has none.
	Attach(group ib.MGID, lid ib.MLID) error
	Detach(group ib.MGID, lid ib.MLID) error
	Close() error
}

// SRQAttr is what an SRQ is to be like.
type SRQAttr struct {
	WR, SGE int // as RecvWR and RecvSGE of a QP
}

// SRQ is a receive queue that QPs share.
type SRQ interface {
	PostRecv(wr *RecvWR) error
	PostRecvs(wrs []RecvWR) (n int, err error)
	// Limit asks for one EventSRQLimit when fewer buffers than that are left.
	Limit(n int) error
	Close() error
}

// AHAttr is where datagrams go.
type AHAttr struct {
	Port     uint8 // that they leave by; 1 by default
	LID      ib.LID
	MLID     ib.MLID // of a group, in place of LID
	SL       ib.SL
	GID      ib.GID // of the peer or the group; zero for no GRH
	Source   ib.GID // of this port, as GID and GIDType of QPAttr
	Type     GIDType
	HopLimit uint8
	Rate     ib.Rate
}

// AH is such an address.
type AH interface {
	Close() error
}

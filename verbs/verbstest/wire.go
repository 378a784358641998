package verbstest

import (
	"context"
	"errors"
	"slices"

	"heddle/ib"
	"heddle/verbs"
)

// Call is a method call on an object of the other process. Which fields are used
// is the method's.
type Call struct {
	ID     uint64 // by which it is canceled
	Object uint64
	Method string
	// Others are further objects: CQs and an SRQ of a QP, an address of each
	// request.
	Others []uint64
	Number int
	Offset int
	Flag   bool
	Bytes  []byte
	Access verbs.Access
	State  verbs.QPState
	Group  ib.MGID
	LID    ib.MLID
	QP     verbs.QPAttr
	SRQ    verbs.SRQAttr
	AH     verbs.AHAttr
	Sends  []verbs.SendWR
	Recvs  []verbs.RecvWR
}

// Answer is what a call gave.
type Answer struct {
	Failure *Failure
	Object  uint64
	Number  int
	Text    string
	Bytes   []byte
	Attr    verbs.DeviceAttr
	Caps    verbs.Caps
	Port    verbs.PortAttr
	GID     verbs.GIDEntry
	Event   verbs.Event
	Objects [3]uint64 // CQ, QP and SRQ of an event
	QP      verbs.QPAttr
	State   verbs.QPState
	QPN     ib.QPN
	QKey    ib.QKey
	Addr    uint64
	LKey    uint32
	RKey    uint32
	WCs     []verbs.WC
}

// Failure is an error of the other process: its text, and which sentinels it
// wraps, by their places in the list.
type Failure struct {
	Text      string
	Sentinels []int
}

// sentinels are what tests ask errors of the other process for.
func sentinels() []error {
	return []error{
		verbs.ErrNoDevice, verbs.ErrNotSupported, verbs.ErrNotFound, verbs.ErrInvalid, verbs.ErrState,
		verbs.ErrQueueFull, verbs.ErrTooManySGEs, verbs.ErrInlineLength, verbs.ErrCQOverrun, verbs.ErrPeerGone,
		verbs.ErrBusy, verbs.ErrClosed, context.Canceled, context.DeadlineExceeded,
	}
}

func failure(err error) *Failure {
	if err == nil {
		return nil
	}
	f := &Failure{Text: err.Error()}
	for i, s := range sentinels() {
		if errors.Is(err, s) {
			f.Sentinels = append(f.Sentinels, i)
		}
	}
	return f
}

func (f *Failure) Error() string { return "the other process: " + f.Text }

// Is tells whether the error wraps a sentinel.
func (f *Failure) Is(target error) bool {
	for i, s := range sentinels() {
		if s == target {
			return slices.Contains(f.Sentinels, i)
		}
	}
	return false
}

package mad

import (
	"fmt"
	"time"
)

// RMPPSender and RMPPReceiver are the two ends of a transfer by the reliable
// multi-packet protocol (IBTA 1, 13.6). They own neither clock nor socket:
// Step is told the time and what came, and says what to send; Deadline says
// when it has to be called again at the latest. A transfer is over, with or
// without success, at most RMPPOptions.Total after it began, whatever the peer
// does. Neither may be used by two goroutines at once.

// RMPPOptions are the limits of a transfer. Zero means the default.
type RMPPOptions struct {
	// Timeout is how long a sender waits for an ACK before it sends again,
	// 200 ms by default.
	Timeout time.Duration
	// Retries is how often a sender sends the same again, 15 times by default:
	// a peer that is gone is noticed after 3.2 s.
	Retries int
	// Idle is how long a receiver waits for a segment that it does not have,
	// 10 s by default.
	Idle time.Duration
	// Total is how long a transfer may take, 5 min by default.
	Total time.Duration
	// Window is the number of segments that a receiver lets the sender have
	// on the way, and the most that a sender has there: 64 by default.
	Window int
	// MaxBytes is the most data that a receiver takes, 16 MiB by default.
	MaxBytes int
	// DualSided says of a sender that the answer comes by RMPP as well: it
	// ends with the ACK that turns the direction.
	DualSided bool
	// Once says of a sender that the peer may know nothing of RMPP and take the
	// first segment for all: until it is heard of, nothing is sent to it again,
	// and it is not told of the end.
	Once bool
}

const (
	rmppTimeout  = 200 * time.Millisecond
	rmppRetries  = 15
	rmppIdle     = 10 * time.Second
	rmppTotal    = 5 * time.Minute
	rmppWindow   = 64
	rmppMaxBytes = 16 << 20
)

func (o RMPPOptions) withDefaults() RMPPOptions {
	o.Timeout = orDefault(o.Timeout, rmppTimeout)
	o.Retries = orDefault(o.Retries, rmppRetries)
	o.Idle = orDefault(o.Idle, rmppIdle)
	o.Total = orDefault(o.Total, rmppTotal)
	o.Window = orDefault(o.Window, rmppWindow)
	o.MaxBytes = orDefault(o.MaxBytes, rmppMaxBytes)
	return o
}

func orDefault[T ~int | ~int64](v, def T) T {
	if v <= 0 {
		return def
	}
	return v
}

// RMPPError is why a transfer ended early.
type RMPPError struct {
	Status RMPPStatus
	// ByPeer says that the peer ended it, and not we.
	ByPeer bool
}

// Error says who ended the transfer and why.
func (e *RMPPError) Error() string {
	if e.ByPeer {
		return fmt.Sprintf("RMPP transfer ended by the peer: %s", e.Status)
	}
	return fmt.Sprintf("RMPP transfer ended: %s", e.Status)
}

// rmppPayload is what follows the RMPP header in each segment: the class's own
// header, which each segment repeats, and data.
const rmppPayload = Size - offRMPP - rmppHeaderLen

const offVendorOUIData = 40

// RMPPOffset is where the data starts in segments of a class: at 56 in subnet
// administration, at 40 in the vendor classes with an OUI. ok is false for a
// class that does not use RMPP.
func RMPPOffset(c Class) (offset int, ok bool) {
	switch {
	case c == ClassSA:
		return offSAData, true
	case c.IsVendorOUI():
		return offVendorOUIData, true
	default:
		return 0, false
	}
}

// UsesRMPP tells whether a datagram belongs to a transfer: its class has the
// protocol and its header says Active.
func (d *Datagram) UsesRMPP() bool {
	_, ok := RMPPOffset(d.Class())
	return ok && d.RMPP().Flags&RMPPActive != 0
}

// Unsegmented tells of a datagram that uses RMPP whether its sender left the
// protocol to a device that does none: it says Active and no more, and is all
// that comes of a message that may have been longer. So are the tables of
// OpenSM on ibsim.
func (h RMPPHeader) Unsegmented() bool {
	return h.Flags == RMPPActive && h.Data1 == 0 && (h.Type == RMPPNone || h.Type == RMPPData)
}

// rmppHeaders writes into d the headers of a class that end at offset, and
// clears the data.
func (d *Datagram) rmppHeaders(from []byte, offset int, h RMPPHeader) {
	copy(d[:offset], from)
	clear(d[offset:])
	h.Version, h.RespTime, h.Flags = RMPPVersion, RMPPNoRespTime, h.Flags|RMPPActive
	d.SetRMPP(h)
}

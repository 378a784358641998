package verbs

import (
	"errors"
	"fmt"
	"net"
	"strings"

	"heddle/ib"
)

// What callers decide on. An *OpError wraps one of them where it fits.
var (
	ErrNoDevice     = errors.New("no such device")
	ErrNotSupported = errors.New("the device cannot do that")
	ErrNotFound     = errors.New("no such entry")
	ErrInvalid      = errors.New("invalid argument")
	ErrState        = errors.New("the QP's state does not allow that")
	// ErrQueueFull is a queue whose requests have not completed, or whose
	// completions were not polled.
	ErrQueueFull    = errors.New("the queue is full")
	ErrTooManySGEs  = errors.New("too many SGEs")
	ErrInlineLength = errors.New("too much inline data")
	ErrCQOverrun    = errors.New("the completion queue has overrun")
	ErrPeerGone     = errors.New("the peer is gone")
	ErrBusy         = errors.New("still in use")
	// ErrClosed is an object that was closed; it is net.ErrClosed as well.
	ErrClosed = fmt.Errorf("verbs: %w", net.ErrClosed)
)

// OpError is a call, or a request, that failed. What is not known is zero.
type OpError struct {
	Verb   string // the call
	Op     Op     // of the request
	Device string
	QPN    ib.QPN
	Peer   string
	ID     uint64 // of the request
	Status Status // of a completion
	Vendor uint32
	// Limit and Got tell how far an argument is beyond a limit.
	Limit, Got int
	Err        error
}

func (e *OpError) Error() string {
	var b strings.Builder
	b.WriteString(e.Verb)
	if e.Op != 0 {
		fmt.Fprintf(&b, " %v", e.Op)
	}
	if e.Device != "" {
		fmt.Fprintf(&b, " on %s", e.Device)
	}
	if e.QPN != 0 {
		fmt.Fprintf(&b, " QP %d", e.QPN)
	}
	if e.Peer != "" {
		fmt.Fprintf(&b, " to %s", e.Peer)
	}
	if e.Status != StatusOK {
		fmt.Fprintf(&b, ": request %d: %v", e.ID, e.Status)
		if e.Vendor != 0 {
			fmt.Fprintf(&b, " (vendor's code %#x)", e.Vendor)
		}
	}
	if e.Err != nil {
		fmt.Fprintf(&b, ": %v", e.Err)
	}
	if e.Limit != 0 || e.Got != 0 {
		fmt.Fprintf(&b, ": %d, the limit is %d", e.Got, e.Limit)
	}
	return b.String()
}

// Unwrap gives the sentinel or the system's error.
func (e *OpError) Unwrap() error { return e.Err }

// MemlockError is memory that the limit of locked memory does not allow.
type MemlockError struct {
	Need, Limit uint64 // bytes
	Err         error
}

func (e *MemlockError) Error() string {
	return fmt.Sprintf("registering %d bytes: the limit of locked memory is %d bytes (ulimit -l): %v", e.Need, e.Limit, e.Err)
}

// Unwrap gives the system's error.
func (e *MemlockError) Unwrap() error { return e.Err }

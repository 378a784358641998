package channel

import (
	"errors"
	"fmt"

	"heddle/verbs"
)

// What callers decide on. Errors wrap these, and tell the place beside it.
var (
	// ErrWouldBlock is of calls that do not wait.
	ErrWouldBlock = errors.New("nothing there yet")
	// ErrPeerGone is a peer that died, or whose connection broke.
	ErrPeerGone = verbs.ErrPeerGone
	// ErrTooLarge is a message that the channel cannot carry, however long one
	// waits.
	ErrTooLarge = errors.New("message too large for the channel")
	// ErrLagged is what a reader of a cast channel gets that was too slow, and was
	// evicted: messages are lost to it.
	ErrLagged = errors.New("too slow a reader: evicted")
	// ErrLeased is a second lease of a sender, whose first is still out.
	ErrLeased = errors.New("the lease before is still out")
	// ErrClosed is an end that was closed; it is net.ErrClosed as well.
	ErrClosed = verbs.ErrClosed
	// ErrInvalid is an argument, or a peer's word, that makes no sense.
	ErrInvalid = verbs.ErrInvalid
	// ErrNotSupported is what a kind or a device cannot do.
	ErrNotSupported = verbs.ErrNotSupported
	// ErrLimit is a peer for whose sake an end would need more memory than
	// Config.PeerMemory.
	ErrLimit = errors.New("more memory than a peer may ask for")
	// ErrBusy is an end that has all the peers that it can have.
	ErrBusy = verbs.ErrBusy
)

// blocked tells whether a call would have had to wait. Nothing in this package
// wraps ErrWouldBlock, and it is asked for with each message.
func blocked(err error) bool { return err == ErrWouldBlock } //nolint:errorlint // see above

// Error is a failure of a channel.
type Error struct {
	Op   string // the call
	Kind string // the name of the channel's kind
	Peer string // which of the peers; empty where there is one at most
	Err  error
}

func (e *Error) Error() string {
	if e.Peer != "" {
		return fmt.Sprintf("%s on channel %s, %s: %v", e.Op, e.Kind, e.Peer, e.Err)
	}
	return fmt.Sprintf("%s on channel %s: %v", e.Op, e.Kind, e.Err)
}

// Unwrap gives the sentinel, or the device's error.
func (e *Error) Unwrap() error { return e.Err }

// LimitError is a peer whose ring or slots are so large that this end would need so
// many bytes. It wraps ErrLimit.
type LimitError struct{ Need, Limit uint64 }

func (e *LimitError) Error() string {
	return fmt.Sprintf("%v: %d bytes, Config.PeerMemory is %d", ErrLimit, e.Need, e.Limit)
}

// Unwrap gives ErrLimit.
func (e *LimitError) Unwrap() error { return ErrLimit }

// LengthError is a message that is too large. It wraps ErrTooLarge.
type LengthError struct{ Length, Limit int }

func (e *LengthError) Error() string {
	return fmt.Sprintf("%v: %d bytes, the limit is %d", ErrTooLarge, e.Length, e.Limit)
}

// Unwrap gives ErrTooLarge.
func (e *LengthError) Unwrap() error { return ErrTooLarge }

package cm

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
)

// What callers decide on, beside verbs.ErrNoDevice, which says that there is no
// connection manager here, and the errors of contexts.
var (
	// ErrUnreachable is an address that no RDMA device leads to.
	ErrUnreachable = errors.New("no RDMA device leads there")
	// ErrRejected is a peer that is there and does not want to.
	ErrRejected = errors.New("rejected")
)

// The reasons of a REJ that say more than its number (IBTA 12.6.7.2).
const (
	rejectedService  = 8  // nobody listens
	rejectedConsumer = 28 // the program does, and says why
)

// failure is the error of an event that is none of those that were waited for.
func (e *event) failure() error {
	status := e.status
	if status < 0 {
		status = -status
	}
	switch e.kind { //nolint:exhaustive // the rest is what nobody asked for
	case addrError, routeError:
		return fmt.Errorf("%v: %w: %w", e.kind, ErrUnreachable, syscall.Errno(status))
	case unreachable:
		return fmt.Errorf("the peer does not answer: %w: %w", ErrUnreachable, syscall.Errno(status))
	case rejected:
		return fmt.Errorf("%w: %s", ErrRejected, e.reason())
	case connectError:
		return fmt.Errorf("%v: %w", e.kind, syscall.Errno(status))
	}
	return fmt.Errorf("%v, status %d, in place of what was asked for", e.kind, e.status)
}

// reason is why a peer rejected.
func (e *event) reason() string {
	switch e.status {
	case rejectedService:
		return "nobody listens there"
	case rejectedConsumer:
		if text, _, _ := strings.Cut(string(e.private), "\x00"); text != "" {
			return fmt.Sprintf("%q", text)
		}
	}
	return fmt.Sprintf("reason %d", e.status)
}

// unreached adds ErrUnreachable to what the kernel says of an address.
func unreached(err error) error {
	for _, errno := range []syscall.Errno{syscall.ENODEV, syscall.ENETUNREACH, syscall.EHOSTUNREACH, syscall.EADDRNOTAVAIL} {
		if errors.Is(err, errno) {
			return fmt.Errorf("%w: %w", ErrUnreachable, err)
		}
	}
	return err
}

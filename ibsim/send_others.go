//go:build !unix

package ibsim

import (
	"errors"
	"fmt"
	"net"
	"syscall"
)

// Sender sends on a datagram socket. It is only there where the protocol is: on
// unix.
type Sender struct{}

// NewSender fails.
func NewSender(syscall.Conn) (*Sender, error) {
	return nil, fmt.Errorf("send: %w", errors.ErrUnsupported)
}

// Send fails.
func (*Sender) Send([]byte) error { return errors.ErrUnsupported }

// SendTo fails.
func (*Sender) SendTo([]byte, net.Addr) error { return errors.ErrUnsupported }

// SendAll fails.
func (*Sender) SendAll([]Packet) (int, error) { return 0, errors.ErrUnsupported }

// WaitAll fails.
func (*Sender) WaitAll([]Packet) (int, error) { return 0, errors.ErrUnsupported }

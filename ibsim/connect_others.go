//go:build !unix

package ibsim

import (
	"errors"
	"fmt"
	"net"
	"syscall"
)

// ConnectSocket connects a bound datagram socket to its peer. It is only there
// where the protocol is: on unix.
func ConnectSocket(_ syscall.Conn, peer net.Addr) error {
	return fmt.Errorf("connect to %s: %w", peer, errors.ErrUnsupported)
}

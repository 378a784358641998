//go:build unix

package ibsim

import (
	"errors"
	"fmt"
	"net"
	"syscall"
)

// ConnectSocket connects a bound datagram socket to its peer, which net cannot:
// then Write sends to the peer, and only what the peer sends is received. Of
// two unix sockets that are connected with each other, neither is stopped by
// the kernel's small limit of datagrams that wait in a queue.
func ConnectSocket(conn syscall.Conn, peer net.Addr) error {
	to, err := sockaddr(peer)
	if err != nil {
		return err
	}
	raw, err := conn.SyscallConn()
	if err != nil {
		return fmt.Errorf("connect to %s: %w", peer, err)
	}
	var failed error
	if err := raw.Control(func(fd uintptr) { failed = syscall.Connect(int(fd), to) }); err != nil {
		return fmt.Errorf("connect to %s: %w", peer, err)
	}
	if failed != nil {
		return fmt.Errorf("connect to %s: %w", peer, failed)
	}
	return nil
}

func sockaddr(addr net.Addr) (syscall.Sockaddr, error) {
	switch addr := addr.(type) {
	case *net.UnixAddr:
		return &syscall.SockaddrUnix{Name: addr.Name}, nil
	case *net.UDPAddr:
		if ip := addr.IP.To4(); ip != nil {
			return &syscall.SockaddrInet4{Port: addr.Port, Addr: [4]byte(ip)}, nil
		}
	}
	return nil, fmt.Errorf("connect to %s: %w", addr, errors.ErrUnsupported)
}

//go:build unix

package ibsim

import (
	"errors"
	"fmt"
	"net"
	"syscall"
)

// Sender sends on a datagram socket and never waits for a receiver. It must not
// be used by two goroutines at once.
type Sender struct {
	raw  syscall.RawConn
	try  func(fd uintptr) bool // made once, so that Send allocates nothing
	data []byte
	to   syscall.Sockaddr // nil for the peer of a connected socket
	err  error
}

// NewSender makes a Sender of a socket, which may be used otherwise too.
func NewSender(conn syscall.Conn) (*Sender, error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return nil, fmt.Errorf("send: %w", err)
	}
	s := &Sender{raw: raw}
	s.try = s.once
	return s, nil
}

// once tells the poller not to wait.
func (s *Sender) once(fd uintptr) bool {
	if s.to == nil {
		_, s.err = syscall.Write(int(fd), s.data)
	} else {
		s.err = syscall.Sendto(int(fd), s.data, 0, s.to)
	}
	return true
}

// Send sends to the peer of a connected socket. The error wraps ErrNoRoom where
// the datagram would have to wait.
func (s *Sender) Send(b []byte) error { return s.send(b, nil) }

// SendTo sends from a socket that is not connected; see Send.
func (s *Sender) SendTo(b []byte, addr net.Addr) error {
	to, err := sockaddr(addr)
	if err != nil {
		return err
	}
	return s.send(b, to)
}

func (s *Sender) send(b []byte, to syscall.Sockaddr) error {
	s.data, s.to = b, to
	err := s.raw.Write(s.try)
	s.data = nil
	switch {
	case err != nil:
		return fmt.Errorf("send: %w", err)
	case errors.Is(s.err, syscall.EAGAIN), errors.Is(s.err, syscall.ENOBUFS):
		return ErrNoRoom
	case s.err != nil:
		return fmt.Errorf("send: %w", s.err)
	}
	return nil
}

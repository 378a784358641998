//go:build unix

package ibsim

import (
	"errors"
	"fmt"
	"net"
	"syscall"
)

// Sender sends on a datagram socket. It must not be used by two goroutines at
// once.
type Sender struct {
	raw     syscall.RawConn
	try     func(fd uintptr) bool // made once, so that Send allocates nothing
	data    []byte
	to      syscall.Sockaddr // nil for the peer of a connected socket
	wait    bool
	err     error
	several several
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

// once has the poller wait only where that is wanted.
func (s *Sender) once(fd uintptr) bool {
	if s.to == nil {
		_, s.err = syscall.Write(int(fd), s.data)
	} else {
		s.err = syscall.Sendto(int(fd), s.data, 0, s.to)
	}
	return !s.wait || !errors.Is(s.err, syscall.EAGAIN)
}

// Send sends to the peer of a connected socket. The error wraps ErrNoRoom where
// the datagram would have to wait.
func (s *Sender) Send(b []byte) error { return s.send(b, nil, false) }

// SendTo sends from a socket that is not connected; see Send.
func (s *Sender) SendTo(b []byte, addr net.Addr) error {
	to, err := sockaddr(addr)
	if err != nil {
		return err
	}
	return s.send(b, to, false)
}

func (s *Sender) send(b []byte, to syscall.Sockaddr, wait bool) error {
	s.data, s.to, s.wait = b, to, wait
	err := s.raw.Write(s.try)
	s.data = nil
	return sendError(err, s.err)
}

// SendAll sends packets to the peer of a connected socket, with as few system
// calls as can be. It returns how many were sent; the error wraps ErrNoRoom
// where the next would have to wait.
func (s *Sender) SendAll(packets []Packet) (sent int, err error) { return s.sendAll(packets, false) }

// WaitAll is SendAll that waits for room.
func (s *Sender) WaitAll(packets []Packet) (sent int, err error) { return s.sendAll(packets, true) }

// sendError is the error of what the poller and the system call say.
func sendError(poller, call error) error {
	switch {
	case poller != nil:
		return fmt.Errorf("send: %w", poller)
	case errors.Is(call, syscall.EAGAIN), errors.Is(call, syscall.ENOBUFS):
		return ErrNoRoom
	case call != nil:
		return fmt.Errorf("send: %w", call)
	}
	return nil
}

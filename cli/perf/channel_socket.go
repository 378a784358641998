package perf

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"time"
)

// socket is a connection in place of a channel. All messages of a test are as
// long; the first byte of the last one of a phase is 1.
type socket struct {
	ChannelSpec
	ctx     context.Context
	link    *Link
	first   bool
	conn    net.Conn
	stop    func() bool
	message []byte
}

func (s *socket) open() (err error) {
	s.message = make([]byte, s.Size)
	if s.first {
		s.conn, err = s.link.dial(s.ctx, s.Via)
	} else {
		s.conn, err = s.link.invite(s.ctx, s.Via)
	}
	if err != nil {
		return err
	}
	s.stop = context.AfterFunc(s.ctx, func() { s.conn.Close() }) //nolint:errcheck // who waits is told
	return nil
}

func (s *socket) close() error {
	if s.conn == nil {
		return nil
	}
	s.stop()
	if err := s.conn.Close(); !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil // the other end is gone already
}

func (s *socket) phase(d time.Duration) (m measured, err error) {
	before := allocations()
	switch {
	case s.Test == Latency && s.first:
		m, err = s.ping(d)
	case s.first:
		m.Messages, err = s.stream(d)
	default:
		m, err = s.take()
	}
	if err != nil {
		return m, err
	}
	m.Allocs = (allocations() - before) / uint64(max(m.Messages, 1))
	return m, nil
}

func (s *socket) pass() error {
	_, err := s.conn.Write(s.message)
	return err
}

// finish sends the last message.
func (s *socket) finish() error {
	s.message[0] = 1
	defer func() { s.message[0] = 0 }()
	return s.pass()
}

func (s *socket) ping(d time.Duration) (m measured, err error) {
	list := make([]float64, 0, 1<<16)
	begin := time.Now()
	for start := begin; ; {
		for range pingsTogether {
			if err := s.pass(); err != nil {
				return m, err
			}
			if _, err := io.ReadFull(s.conn, s.message); err != nil {
				return m, err
			}
		}
		now := time.Now()
		list = append(list, float64(now.Sub(start))/2/pingsTogether)
		m.Messages += pingsTogether
		if now.Sub(begin) >= d {
			break
		}
		start = now
	}
	m.Times = timesOf(list)
	return m, s.finish()
}

func (s *socket) stream(d time.Duration) (n int, err error) {
	for begin := time.Now(); n == 0 || time.Since(begin) < d; n += sentTogether {
		for range sentTogether {
			if err := s.pass(); err != nil {
				return n, err
			}
		}
	}
	return n, s.finish()
}

// take takes messages, and answers them where the test is of that.
func (s *socket) take() (m measured, err error) {
	var begin time.Time
	for ; ; m.Messages++ {
		if _, err := io.ReadFull(s.conn, s.message); err != nil {
			return m, err
		}
		if s.message[0] == 1 {
			m.Elapsed = time.Since(begin)
			s.message[0] = 0
			return m, nil
		}
		if m.Messages == 0 {
			begin = time.Now()
		}
		if s.Test == Latency {
			if err := s.pass(); err != nil {
				return m, err
			}
		}
	}
}

// dial comes to where the other end says that it listens.
func (l *Link) dial(ctx context.Context, network string) (net.Conn, error) {
	var h hello
	if err := l.receive(&h); err != nil {
		return nil, err
	}
	var d net.Dialer
	return d.DialContext(ctx, network, h.Socket)
}

// invite listens at a socket, says where it is, and takes who comes.
func (l *Link) invite(ctx context.Context, network string) (net.Conn, error) {
	address := "127.0.0.1:0"
	if network == UnixSocket {
		dir, err := os.MkdirTemp("", "heddle-perf-")
		if err != nil {
			return nil, err
		}
		defer os.RemoveAll(dir) //nolint:errcheck // what stays is in the system's directory for that
		address = filepath.Join(dir, "socket")
	}
	listener, err := net.Listen(network, address)
	if err != nil {
		return nil, err
	}
	defer listener.Close()
	defer context.AfterFunc(ctx, func() { listener.Close() })() //nolint:errcheck // who waits is told
	if err := l.send(hello{Socket: listener.Addr().String()}); err != nil {
		return nil, err
	}
	return listener.Accept()
}

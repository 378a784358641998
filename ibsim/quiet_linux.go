package ibsim

import (
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// quiet is a socket that Go's poller does not watch. The poller watches a file
// that tells whether there is something to read.
type quiet struct {
	fd     int
	ready  *os.File // an epoll instance
	raw    syscall.RawConn
	closed atomic.Bool
	reads  direction
	writes direction
}

// Quiet makes a quiet socket of one of package net, which it closes, also where
// it fails. The poller has the kernel wake it up for what comes and for room to
// send, and on a unix socket there is room anew whenever the peer takes a
// datagram: each that is sent costs a wake-up. A quiet socket is watched for what
// comes only. Who waits for room, as WaitAll does, holds up a thread meanwhile.
func Quiet(conn Conn) (Conn, error) {
	fd, err := duplicate(conn)
	err = errors.Join(err, conn.Close())
	if err != nil {
		return nil, fmt.Errorf("quiet socket: %w", err)
	}
	ready, err := watch(fd)
	if err != nil {
		unix.Close(fd) //nolint:errcheck // the first error is told
		return nil, fmt.Errorf("quiet socket: %w", err)
	}
	q := &quiet{fd: fd, ready: ready}
	if q.raw, err = ready.SyscallConn(); err != nil {
		q.Close() //nolint:errcheck // the first error is told
		return nil, fmt.Errorf("quiet socket: %w", err)
	}
	q.reads.init(func(f func(uintptr) bool) bool { return f(uintptr(fd)) })
	q.writes.init(q.insist)
	return q, nil
}

// duplicate is a descriptor of the same socket that net knows nothing of.
func duplicate(conn Conn) (fd int, err error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return -1, err
	}
	fd = -1
	var failed error
	err = raw.Control(func(of uintptr) { fd, failed = unix.FcntlInt(of, unix.F_DUPFD_CLOEXEC, 0) })
	return fd, errors.Join(err, failed)
}

// watch makes a file that can be read where a socket can.
func watch(fd int) (*os.File, error) {
	e, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, err
	}
	err = unix.EpollCtl(e, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: unix.EPOLLIN})
	if err == nil {
		err = unix.SetNonblock(e, true) // or the poller would not watch it
	}
	if err != nil {
		unix.Close(e) //nolint:errcheck // the first error is told
		return nil, err
	}
	return os.NewFile(uintptr(e), "epoll"), nil
}

// direction is reading or sending, in which one call goes at a time. It allocates nothing.
type direction struct {
	mu   sync.Mutex
	f    func(uintptr) bool
	call func(uintptr) bool
}

func (d *direction) init(call func(f func(uintptr) bool) bool) {
	d.call = func(uintptr) bool { return call(d.f) }
}

func (d *direction) do(through func(func(uintptr) bool) error, f func(uintptr) bool) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.f = f
	err := through(d.call)
	d.f = nil
	return err
}

// insist calls f until it is done, and waits for room in between. Close does not
// end the wait, so that it ends itself.
func (q *quiet) insist(f func(uintptr) bool) bool {
	for !f(uintptr(q.fd)) && !q.closed.Load() {
		const patience = 20                                                         // milliseconds
		unix.Poll([]unix.PollFd{{Fd: int32(q.fd), Events: unix.POLLOUT}}, patience) //nolint:errcheck // f tells
	}
	return true
}

// SyscallConn gives the socket's own descriptor to what is called.
func (q *quiet) SyscallConn() (syscall.RawConn, error) { return quietConn{q}, nil }

type quietConn struct{ *quiet }

func (q quietConn) Control(f func(fd uintptr)) error {
	return q.named(q.raw.Control(func(uintptr) { f(uintptr(q.fd)) }))
}

func (q quietConn) Read(f func(fd uintptr) bool) error {
	return q.named(q.reads.do(q.raw.Read, f))
}

func (q quietConn) Write(f func(fd uintptr) bool) error {
	err := q.writes.do(q.raw.Write, f)
	if err == nil && q.closed.Load() {
		err = os.ErrClosed
	}
	return q.named(err)
}

// named gives the error of a closed socket the name that net has for it.
func (q *quiet) named(err error) error {
	if err != nil && q.closed.Load() {
		return net.ErrClosed
	}
	return err
}

// Read reads one datagram.
func (q *quiet) Read(b []byte) (n int, err error) {
	var failed error
	err = quietConn{q}.Read(func(fd uintptr) bool {
		n, _, failed = unix.Recvfrom(int(fd), b, unix.MSG_DONTWAIT)
		return !errors.Is(failed, unix.EAGAIN)
	})
	return max(n, 0), errors.Join(err, failed)
}

func (q *quiet) SetReadDeadline(t time.Time) error { return q.named(q.ready.SetReadDeadline(t)) }

// Close waits until nobody uses the descriptor any more.
func (q *quiet) Close() error {
	if q.closed.Swap(true) {
		return net.ErrClosed
	}
	return errors.Join(q.ready.Close(), unix.Close(q.fd))
}

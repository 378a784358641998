//go:build linux && (amd64 || arm64)

package ibv

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"heddle/verbs"
)

// eventFile waits, by the runtime's poller, until a file of the C library has an
// event to read. It is a second descriptor of the same file: the library closes
// its own.
type eventFile struct {
	file *os.File
	conn syscall.RawConn
	turn chan struct{} // who waits holds it
	once sync.Once
	err  error
	// closed is set before the file is closed: what the calls of package os say
	// then differs from one to the other.
	closed atomic.Bool
}

// newEventFile makes the library's file non-blocking.
func newEventFile(fd int32, name string) (*eventFile, error) {
	// Not SetNonblock alone: the runtime closes what it is given.
	again, _, errno := syscall.Syscall(syscall.SYS_FCNTL, uintptr(fd), syscall.F_DUPFD_CLOEXEC, 0)
	if errno != 0 {
		return nil, fmt.Errorf("%s: %w", name, errno)
	}
	if err := syscall.SetNonblock(int(again), true); err != nil {
		return nil, errors.Join(err, syscall.Close(int(again)))
	}
	e := &eventFile{file: os.NewFile(again, name), turn: make(chan struct{}, 1)}
	conn, err := e.file.SyscallConn()
	if err != nil {
		return nil, errors.Join(err, e.file.Close())
	}
	e.conn = conn
	return e, nil
}

// wait waits until take, which is tried again and again, has done what it is
// for. The error is that of the context, verbs.ErrClosed, or what take returns.
func (e *eventFile) wait(ctx context.Context, take func() (done bool, err error)) error {
	select {
	case e.turn <- struct{}{}:
		defer func() { <-e.turn }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if err := e.file.SetReadDeadline(time.Time{}); err != nil {
		return e.failed(err)
	}
	interrupted := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(interrupted)
		_ = e.file.SetReadDeadline(time.Unix(1, 0)) // it fails once the file is closed, which ends the wait as well
	})
	var taken error
	err := e.conn.Read(func(uintptr) (done bool) {
		done, taken = take()
		return done || taken != nil
	})
	if !stop() {
		<-interrupted
	}
	switch {
	case taken != nil:
		return taken
	case errors.Is(err, os.ErrDeadlineExceeded):
		return ctx.Err()
	}
	return e.failed(err)
}

func (e *eventFile) failed(err error) error {
	if err != nil && e.closed.Load() {
		return verbs.ErrClosed
	}
	return err
}

// close ends who waits, and returns when nobody does any more.
func (e *eventFile) close() error {
	e.once.Do(func() {
		e.closed.Store(true)
		e.err = e.file.Close()
	})
	return e.err
}

// again tells whether a read that failed is to be tried once more later.
func again(errno syscall.Errno) bool { return errno == syscall.EAGAIN || errno == syscall.EINTR }

package cm

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"heddle/verbs"
)

// deviceFile is the connection manager's.
const deviceFile = "/dev/infiniband/rdma_cm"

// file is an opened connection manager. Closing it ends all its IDs.
type file struct {
	f    *os.File
	conn syscall.RawConn

	mu     sync.Mutex
	answer [max(addrSize, qpAttrSize, pathsSize)]byte // guarded by mu

	turn    chan struct{} // who waits for events holds it, and has the next one
	arrived [eventSize]byte
}

func openFile() (*file, error) { return openFileAt(deviceFile) }

func openFileAt(path string) (*file, error) {
	fd, err := syscall.Open(path, syscall.O_RDWR|syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0)
	if err != nil {
		return nil, withAdvice(&fs.PathError{Op: "open", Path: path, Err: err})
	}
	f := &file{f: os.NewFile(uintptr(fd), path), turn: make(chan struct{}, 1)}
	if err := f.f.SetReadDeadline(time.Time{}); err != nil { // what the poller has not taken on cannot be waited for
		return nil, errors.Join(fmt.Errorf("%s is not the connection manager's: %w: %w", path, err, verbs.ErrNoDevice), f.f.Close())
	}
	f.conn, err = f.f.SyscallConn()
	if err != nil {
		return nil, errors.Join(err, f.f.Close())
	}
	return f, nil
}

// withAdvice says what to do about a device file that does not open.
func withAdvice(err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENXIO), errors.Is(err, syscall.ENODEV):
		return fmt.Errorf("%w: %w (is the kernel's module rdma_ucm loaded?)", verbs.ErrNoDevice, err)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%w: %w (who may use the device file?)", verbs.ErrNoDevice, err)
	}
	return err
}

// write gives the kernel a command. It is not a Write of package os, which would
// wait for the poller if a command failed with EAGAIN.
func (f *file) write(b []byte) error {
	var n int
	var failed error
	err := f.conn.Control(func(fd uintptr) {
		for {
			if n, failed = syscall.Write(int(fd), b); !errors.Is(failed, syscall.EINTR) {
				return
			}
		}
	})
	switch {
	case err != nil:
		return verbs.ErrClosed
	case failed == nil && n != len(b):
		return fmt.Errorf("the connection manager took %d of a command's %d bytes: %w", n, len(b), verbs.ErrInvalid)
	}
	return failed
}

// ask gives a command, whose first field is where its answer of out bytes goes.
func (f *file) ask(c command, rest []byte, out int, take func(answer []byte)) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	clear(f.answer[:])
	b := header(c, 8+len(rest), out)
	b = native.AppendUint64(b, uint64(uintptr(unsafe.Pointer(&f.answer[0]))))
	if err := f.write(append(b, rest...)); err != nil {
		return err
	}
	take(f.answer[:out])
	return nil
}

// tell gives a command without an answer.
func (f *file) tell(c command, body []byte) error {
	return f.write(append(header(c, len(body), 0), body...))
}

// create makes an ID. Its command has the address of the answer second.
func (f *file) create() (id uint32, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	b := native.AppendUint64(header(createID, 24, idSize), uid)
	b = native.AppendUint64(b, uint64(uintptr(unsafe.Pointer(&f.answer[0]))))
	b = native.AppendUint16(b, portSpaceTCP)
	b = append(b, typeRC, 0, 0, 0, 0, 0)
	if err := f.write(b); err != nil {
		return 0, err
	}
	return native.Uint32(f.answer[:]), nil
}

// adopt takes an ID over from another file, with the events that wait for it.
func (f *file) adopt(from *file, id uint32) error {
	var err error
	failed := from.conn.Control(func(fd uintptr) {
		body := native.AppendUint32(nil, id)
		body = native.AppendUint32(body, uint32(fd))
		err = f.ask(migrateID, body, idSize, func([]byte) {})
	})
	if failed != nil {
		return verbs.ErrClosed
	}
	return err
}

// next waits for an event.
func (f *file) next(ctx context.Context) (e *event, err error) {
	select {
	case f.turn <- struct{}{}:
		defer func() { <-f.turn }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if err := f.f.SetReadDeadline(time.Time{}); err != nil {
		return nil, verbs.ErrClosed
	}
	interrupted := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(interrupted)
		_ = f.f.SetReadDeadline(time.Unix(1, 0)) // it fails once the file is closed, which ends the wait as well
	})
	err = f.take()
	if !stop() {
		<-interrupted
	}
	switch {
	case err == nil:
		return parseEvent(f.arrived[:])
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, context.Cause(ctx)
	case errors.Is(err, os.ErrClosed):
		return nil, verbs.ErrClosed
	}
	return nil, fmt.Errorf("event of the connection manager: %w", err)
}

// take reads an event, as soon as there is one.
func (f *file) take() error {
	b := header(getEvent, 8, eventSize)
	b = native.AppendUint64(b, uint64(uintptr(unsafe.Pointer(&f.arrived[0]))))
	clear(f.arrived[:])
	var failed error
	err := f.conn.Read(func(fd uintptr) bool {
		_, failed = syscall.Write(int(fd), b)
		return !errors.Is(failed, syscall.EAGAIN) && !errors.Is(failed, syscall.EINTR)
	})
	if err != nil {
		return err
	}
	return failed
}

func (f *file) close() error { return f.f.Close() }

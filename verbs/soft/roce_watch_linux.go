//go:build amd64 || arm64

package soft

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// watch has a goroutine wait for a socket, through an epoll instance of its own.
// The runtime's would wake a thread for each packet, also for those that were
// taken by who polled; this one does so only once after it was armed.
type watch struct {
	file   *os.File
	raw    syscall.RawConn
	socket syscall.RawConn
	drain  func() (rest bool)
	ready  func(fd uintptr) bool
	arm    func(fd uintptr)
	epoll  int
	event  unix.EpollEvent
}

const oneEvent = unix.EPOLLIN | unix.EPOLLONESHOT

// newWatch watches a socket; drain takes all that is there, and tells whether it
// is not to be watched any more.
func newWatch(socket syscall.RawConn, drain func() bool) (w *watch, err error) {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("RoCEv2: epoll: %w", err)
	}
	if err = unix.SetNonblock(fd, true); err != nil { // so that the runtime waits for it
		return nil, errors.Join(fmt.Errorf("RoCEv2: epoll: %w", err), unix.Close(fd))
	}
	w = &watch{file: os.NewFile(uintptr(fd), "RoCEv2 epoll"), socket: socket, drain: drain, epoll: fd}
	w.ready, w.arm = w.came, w.again
	var fault error
	add := func(s uintptr) {
		fault = unix.EpollCtl(fd, unix.EPOLL_CTL_ADD, int(s), &unix.EpollEvent{Events: oneEvent})
	}
	w.raw, err = w.file.SyscallConn()
	if err = errors.Join(err, socket.Control(add), fault); err != nil {
		return nil, errors.Join(fmt.Errorf("RoCEv2: epoll: %w", err), w.file.Close())
	}
	return w, nil
}

// wait has drain be called when there is something, until that says to rest. The
// error is that of a watch that was closed.
func (w *watch) wait() error { return w.raw.Read(w.ready) }

// came is called when there may be something; false is to wait until there is.
func (w *watch) came(uintptr) bool {
	// Without this call the next event would not make the instance ready anew.
	_, _, _ = unix.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(w.epoll), uintptr(unsafe.Pointer(&w.event)), 1, 0, 0, 0)
	if w.drain() {
		return true
	}
	return w.socket.Control(w.arm) != nil // a closed socket has nothing more
}

// again has the kernel tell of the next packet, or of one that is there.
func (w *watch) again(socket uintptr) {
	w.event = unix.EpollEvent{Events: oneEvent}
	_, _, _ = unix.RawSyscall6(unix.SYS_EPOLL_CTL, uintptr(w.epoll), unix.EPOLL_CTL_MOD, socket, uintptr(unsafe.Pointer(&w.event)), 0, 0)
}

func (w *watch) close() error { return w.file.Close() }

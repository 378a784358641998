package ibsim

import (
	"errors"
	"fmt"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// batch is the most packets that one system call takes.
const batch = 64

// vector is what the kernel is told of several packets.
type vector struct {
	headers [batch]header
	places  [batch]unix.Iovec
}

// header is the kernel's struct mmsghdr.
type header struct {
	unix.Msghdr
	length uint32
}

// set has the vector stand for packets, and tells how many of them fit.
func (v *vector) set(packets []Packet) int {
	n := min(len(packets), batch)
	for i := range n {
		v.places[i].Base = &packets[i][0]
		v.places[i].SetLen(PacketSize)
		v.headers[i].Iov = &v.places[i]
		v.headers[i].SetIovlen(1)
	}
	return n
}

// call is recvmmsg or sendmmsg for the first n packets of the vector. It never
// waits, and takes so short that the scheduler need not be told of it.
func (v *vector) call(trap uintptr, fd uintptr, n int) (done int, err error) {
	for {
		r, _, errno := unix.RawSyscall6(trap, fd, uintptr(unsafe.Pointer(&v.headers[0])), uintptr(n), unix.MSG_DONTWAIT, 0, 0)
		switch errno {
		case 0:
			return int(r), nil
		case unix.EINTR:
		default:
			return 0, errno
		}
	}
}

// Reader reads packets from a datagram socket, all that are there with one
// system call. It must not be used by two goroutines at once.
type Reader struct {
	raw     syscall.RawConn
	try     func(fd uintptr) bool // made once, so that Read allocates nothing
	packets []Packet
	vector  vector
	n       int
	err     error
}

// NewReader makes a Reader of a socket.
func NewReader(conn Conn) (*Reader, error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return nil, fmt.Errorf("receive: %w", err)
	}
	r := &Reader{raw: raw, packets: make([]Packet, batch)}
	r.vector.set(r.packets)
	r.try = r.once
	return r, nil
}

// once has the poller wait where nothing is there.
func (r *Reader) once(fd uintptr) bool {
	r.n, r.err = r.vector.call(unix.SYS_RECVMMSG, fd, batch)
	return !errors.Is(r.err, unix.EAGAIN)
}

// Read waits for packets and returns those that are there, in order, 64 at
// most. They are valid until the next Read. Datagrams of other lengths are left
// out, so that there may be no packet. Deadlines are those of the socket.
func (r *Reader) Read() ([]Packet, error) {
	if err := r.raw.Read(r.try); err != nil {
		return nil, fmt.Errorf("receive: %w", err)
	}
	if r.err != nil {
		return nil, fmt.Errorf("receive: %w", r.err)
	}
	good := 0
	for i := range r.n {
		if h := &r.vector.headers[i]; h.length != PacketSize || h.Flags&unix.MSG_TRUNC != 0 {
			continue
		}
		if good < i {
			r.packets[good] = r.packets[i]
		}
		good++
	}
	return r.packets[:good], nil
}

// several is what a Sender needs to send several packets.
type several struct {
	try    func(fd uintptr) bool
	vector vector
	rest   []Packet
	wait   bool
	err    error
}

// some sends what it can, and has the poller wait for room where that is
// wanted.
func (v *several) some(fd uintptr) bool {
	for len(v.rest) > 0 {
		var n int
		n, v.err = v.vector.call(unix.SYS_SENDMMSG, fd, v.vector.set(v.rest))
		v.rest = v.rest[n:]
		if v.err != nil {
			return !v.wait || !errors.Is(v.err, unix.EAGAIN)
		}
	}
	return true
}

func (s *Sender) sendAll(packets []Packet, wait bool) (sent int, err error) {
	v := &s.several
	if v.try == nil {
		v.try = v.some
	}
	v.rest, v.wait, v.err = packets, wait, nil
	err = s.raw.Write(v.try)
	sent = len(packets) - len(v.rest)
	v.rest = nil
	return sent, sendError(err, v.err)
}

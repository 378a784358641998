//go:build amd64 || arm64

package soft

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"heddle/ib"
	"heddle/packet"
)

const (
	receiveMessages = 16
	receiveBytes    = 65536
	// large is a message that is received alone, as the next ones may be: it is used
	// while it is in the cache, and while the sender makes the next one.
	large = 16 << 10
)

// receiver receives from one socket: by a goroutine that waits for it, or by who
// polls meanwhile. As long as somebody polls, the goroutine rests, and the kernel
// wakes nobody when a packet comes.
type receiver struct {
	link    *roce
	conn    *os.File
	raw     syscall.RawConn
	watch   *watch
	local   ib.GID      // what the packets are for
	to      netip.Addr  // and its address
	ended   atomic.Bool // the socket is of no use any more
	resting atomic.Bool
	kick    chan struct{} // holds one; ends the rest
	look    func(fd uintptr)
	some    bool   // what look found; of who holds mu
	polls   uint64 // of the link when the goroutine last looked

	mu       sync.Mutex
	messages [receiveMessages]unix.Mmsghdr // guarded by mu, as all below
	vectors  [receiveMessages]unix.Iovec
	names    [receiveMessages]unix.RawSockaddrInet6
	controls [receiveMessages][64]byte
	memory   []byte
	used     int // messages that are to be prepared anew
	most     int // messages to receive by the next call
	packets  []Packet
}

func newReceiver(l *roce, conn *os.File, local ib.GID, to netip.Addr) (*receiver, error) {
	r := &receiver{
		link: l, conn: conn, local: local, to: to, memory: make([]byte, receiveMessages*receiveBytes),
		kick: make(chan struct{}, 1), used: receiveMessages, most: receiveMessages,
	}
	for i := range r.messages {
		r.vectors[i] = unix.Iovec{Base: &r.memory[i*receiveBytes], Len: receiveBytes}
	}
	r.look = r.read
	var err error
	if r.raw, err = conn.SyscallConn(); err != nil {
		return nil, fmt.Errorf("RoCEv2: %w", err)
	}
	r.watch, err = newWatch(r.raw, r.drain)
	return r, err
}

// run receives until the receiver is closed.
func (r *receiver) run() {
	for !r.ended.Load() && r.watch.wait() == nil {
		r.rest()
	}
}

// drain takes what is there. It tells whether others look after the socket from
// now on.
func (r *receiver) drain() (rest bool) {
	if r.takeAll() {
		runtime.Gosched() // who was woken answers first
		r.link.give(nil)
	}
	return r.ended.Load() || r.polled()
}

// takeAll tells whether there was something.
func (r *receiver) takeAll() (some bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for {
		most := r.most
		if !r.take() {
			return some
		}
		if some = true; r.used < most {
			return true // there is no more
		}
	}
}

// busy is how often packets are looked for, since the goroutine last looked, by who
// does nothing else: who goes to sleep looks less often.
const busy = 64

// polled tells whether somebody polls, and nobody sleeps.
func (r *receiver) polled() bool {
	now := r.link.polls.Load()
	is := now-r.polls >= busy && r.link.sleepers.Load() == 0
	r.polls = now
	return is
}

// respite is how long who polled may do other things before the goroutine looks
// after the socket.
const respite = time.Millisecond

// rest waits until nobody polls any more, or somebody sleeps.
func (r *receiver) rest() {
	r.resting.Store(true)
	defer r.resting.Store(false)
	tick := time.NewTicker(respite)
	defer tick.Stop()
	for r.link.sleepers.Load() == 0 && !r.ended.Load() {
		select {
		case <-r.kick:
		case <-tick.C:
			if !r.polled() {
				return
			}
		}
	}
}

// rouse ends the rest, for who falls asleep.
func (r *receiver) rouse() {
	if r.resting.Load() {
		select {
		case r.kick <- struct{}{}:
		default:
		}
	}
}

// close ends it, and closes the socket.
func (r *receiver) close() error {
	r.ended.Store(true)
	err := errors.Join(r.watch.close(), r.conn.Close())
	r.rouse()
	return err
}

// poll receives what is there, unless somebody does already, and tells whether
// there was something.
func (r *receiver) poll() bool {
	if !r.mu.TryLock() {
		return true
	}
	defer r.mu.Unlock()
	return r.take()
}

// take is one read; false is that there was nothing. Mu is held.
func (r *receiver) take() bool {
	r.some = false
	if r.raw.Control(r.look) != nil {
		r.ended.Store(true)
	}
	return r.some
}

// prepare makes the messages that were used as they are to be before a call.
func (r *receiver) prepare() {
	for i := range r.used {
		h := &r.messages[i].Hdr
		*h = unix.Msghdr{
			Name: (*byte)(unsafe.Pointer(&r.names[i])), Namelen: unix.SizeofSockaddrInet6,
			Iov: &r.vectors[i], Iovlen: 1, Control: &r.controls[i][0],
		}
		h.SetControllen(len(r.controls[i]))
	}
	r.used = 0
}

// read gives the device what is there. It does not wait, so that the scheduler need
// not know of the call.
func (r *receiver) read(fd uintptr) {
	r.prepare()
	n, _, errno := unix.RawSyscall6(unix.SYS_RECVMMSG, fd, uintptr(unsafe.Pointer(&r.messages[0])), uintptr(r.most), unix.MSG_DONTWAIT, 0, 0)
	switch errno {
	case 0:
		r.some = true
	case unix.EAGAIN:
		return
	case unix.EINTR, unix.ECONNREFUSED:
		r.some = true
		return
	default:
		r.ended.Store(true)
		return
	}
	r.used = int(n)
	r.packets, r.most = r.packets[:0], min(2*r.most, receiveMessages)
	for i := range r.used {
		if r.messages[i].Len >= large {
			r.most = 1
		}
		r.message(i)
	}
	if len(r.packets) > 0 {
		r.link.give(r.packets)
	}
}

// message takes a message apart into packets.
func (r *receiver) message(i int) {
	h := &r.messages[i]
	from, port, ok := address(&r.names[i])
	if !ok || from == r.link.addr.WithZone("") && port == r.link.own && r.to != r.link.addr {
		return // what this port sent to the group itself
	}
	b := r.memory[i*receiveBytes:][:min(int(h.Len), receiveBytes)]
	size := segment(r.controls[i][:min(int(h.Hdr.Controllen), len(r.controls[i]))], len(b))
	to := r.link.own
	if r.to != r.link.addr {
		to = packet.RoCEPort
	}
	flow := packet.Flow{From: from, To: r.to.WithZone(""), FromPort: port, ToPort: to}
	path := Path{Remote: gidOf(from), Local: r.local, Port: port, Hops: 64}
	for k := uint16(0); len(b) > 0; k++ {
		n := min(size, len(b))
		flow.ID = k
		if data, ok := flow.Check(b[:n]); ok {
			r.packets = append(r.packets, Packet{Path: path, Data: data})
		} else {
			r.link.damaged.Add(1)
		}
		b = b[n:]
	}
}

// address is the one that a message came from.
func address(n *unix.RawSockaddrInet6) (a netip.Addr, port uint16, ok bool) {
	port = binary.BigEndian.Uint16((*[2]byte)(unsafe.Pointer(&n.Port))[:])
	switch n.Family {
	case unix.AF_INET6:
		return netip.AddrFrom16(n.Addr), port, true
	case unix.AF_INET:
		four := (*unix.RawSockaddrInet4)(unsafe.Pointer(n))
		return netip.AddrFrom4(four.Addr), port, true
	default:
		return a, 0, false
	}
}

// segment is the size of a message's packets: what a control message tells, or the
// message is one packet.
func segment(control []byte, whole int) int {
	for len(control) >= unix.SizeofCmsghdr {
		h := (*unix.Cmsghdr)(unsafe.Pointer(&control[0]))
		n := int(h.Len)
		if n < unix.SizeofCmsghdr || n > len(control) {
			break
		}
		if h.Level == unix.SOL_UDP && h.Type == unix.UDP_GRO && n >= unix.CmsgLen(4) {
			if size := int(binary.NativeEndian.Uint32(control[unix.CmsgLen(0):])); size > 0 {
				return size
			}
		}
		control = control[min(unix.CmsgSpace(n-unix.CmsgLen(0)), len(control)):]
	}
	return max(whole, 1)
}

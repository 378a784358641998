//go:build amd64 || arm64

package soft

import (
	"encoding/binary"
	"net/netip"
	"sync"
	"sync/atomic"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"heddle/ib"
	"heddle/packet"
)

const (
	receiveMessages = 16
	receiveBytes    = 65536
)

// receiver receives from one socket: by a goroutine that waits for it, or by who
// polls meanwhile.
type receiver struct {
	link  *roce
	raw   syscall.RawConn
	local ib.GID      // what the packets are for
	to    netip.Addr  // and its address
	ended atomic.Bool // the socket is of no use any more
	wait  func(fd uintptr) bool
	look  func(fd uintptr)

	mu       sync.Mutex
	messages [receiveMessages]unix.Mmsghdr // guarded by mu, as all below
	vectors  [receiveMessages]unix.Iovec
	names    [receiveMessages]unix.RawSockaddrInet6
	controls [receiveMessages][64]byte
	memory   []byte
	packets  []Packet
}

func newReceiver(l *roce, raw syscall.RawConn, local ib.GID, to netip.Addr) *receiver {
	r := &receiver{link: l, raw: raw, local: local, to: to, memory: make([]byte, receiveMessages*receiveBytes)}
	for i := range r.messages {
		r.vectors[i] = unix.Iovec{Base: &r.memory[i*receiveBytes], Len: receiveBytes}
	}
	r.wait, r.look = r.readable, r.try
	return r
}

// run receives until the socket is closed.
func (r *receiver) run() {
	for !r.ended.Load() {
		if r.raw.Read(r.wait) != nil {
			return
		}
	}
}

// readable is called when there may be something; false is to wait until there is.
func (r *receiver) readable(fd uintptr) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.read(fd)
}

// poll receives what is there, unless somebody does already.
func (r *receiver) poll() { _ = r.raw.Control(r.look) } // a closed socket has nothing

func (r *receiver) try(fd uintptr) {
	if r.mu.TryLock() {
		defer r.mu.Unlock()
		r.read(fd)
	}
}

func (r *receiver) prepare() {
	for i := range r.messages {
		h := &r.messages[i].Hdr
		*h = unix.Msghdr{
			Name: (*byte)(unsafe.Pointer(&r.names[i])), Namelen: unix.SizeofSockaddrInet6,
			Iov: &r.vectors[i], Iovlen: 1, Control: &r.controls[i][0],
		}
		h.SetControllen(len(r.controls[i]))
	}
}

// read gives the device what is there; false is that there was nothing. Mu is held.
func (r *receiver) read(fd uintptr) bool {
	r.prepare()
	n, _, errno := unix.Syscall6(unix.SYS_RECVMMSG, fd, uintptr(unsafe.Pointer(&r.messages[0])), receiveMessages, unix.MSG_DONTWAIT, 0, 0)
	switch errno {
	case 0:
	case unix.EAGAIN:
		return false
	case unix.EINTR, unix.ECONNREFUSED:
		return true
	default:
		r.ended.Store(true)
		return true
	}
	r.packets = r.packets[:0]
	for i := range int(n) {
		r.message(i)
	}
	if len(r.packets) > 0 {
		r.link.give(r.packets)
	}
	return true
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

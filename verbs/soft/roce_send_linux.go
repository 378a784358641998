//go:build amd64 || arm64

package soft

import (
	"encoding/binary"
	"net/netip"
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"heddle/packet"
)

const (
	batchMessages = 64
	// mostSegments and mostBytes are what the kernel cuts at most.
	mostSegments = 64
	mostBytes    = 65000
)

// sender sends batches by one call of the kernel. It allocates nothing.
type sender struct {
	link *roce
	raw  syscall.RawConn
	call func(fd uintptr) // writes messages from done on

	mu       sync.Mutex
	messages [batchMessages]unix.Mmsghdr // guarded by mu, as all below
	names    [batchMessages]name
	controls [batchMessages]control
	vectors  [batchMessages]unix.Iovec
	count    int // messages
	used     int // vectors
	done     int
	flow     packet.Flow
	to       Path // whose address is flow's
	whole    bool // the kernel cannot cut
}

// name is room for an address of either family.
type name struct {
	six  unix.RawSockaddrInet6
	four unix.RawSockaddrInet4
}

// control is a control message of UDP with a 16-bit number.
type control [24]byte

func (s *sender) make(l *roce, raw syscall.RawConn) {
	s.link, s.raw, s.call = l, raw, s.write
	s.flow.From, s.flow.FromPort = l.addr.WithZone(""), l.own
}

func (s *sender) send(batch []Packet) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(batch) > 0 {
		run := s.run(batch)
		if s.address(&batch[0].Path) {
			if s.count == batchMessages || s.used+run > batchMessages {
				s.flush()
			}
			s.add(batch[:run])
		}
		batch = batch[run:]
	}
	s.flush()
}

// run is how many packets from the first one on are sent as one message: of one
// path and of one size, except that the last may be smaller. What is more than a
// message can be is divided evenly, as the peer begins when it has the first one.
func (s *sender) run(batch []Packet) int {
	first := &batch[0]
	size := len(first.Data) + packet.ICRCSize
	if s.whole {
		return 1
	}
	n := 1
	for n < len(batch) {
		p := &batch[n]
		more := len(p.Data) + packet.ICRCSize
		if p.Path != first.Path || more > size {
			break
		}
		n++
		if more < size {
			break
		}
	}
	most := max(1, min(mostSegments, mostBytes/size))
	messages := (n + most - 1) / most
	return (n + messages - 1) / messages
}

// address has the flow lead to a path's end; false is that there is no such
// address.
func (s *sender) address(p *Path) bool {
	if *p == s.to && s.flow.To.IsValid() {
		return true
	}
	to, err := addrOf(p.Remote, s.link.six)
	if err != nil {
		return false
	}
	s.to, s.flow.To, s.flow.ToPort = *p, to, portOf(p)
	return true
}

// add adds a message of packets.
func (s *sender) add(run []Packet) {
	i, vectors := s.count, s.vectors[s.used:s.used]
	for k := range run {
		s.flow.ID = uint16(k)
		data := trailer(run[k].Data, &s.flow)
		vectors = append(vectors, unix.Iovec{Base: &data[0], Len: uint64(len(data))})
	}
	h := &s.messages[i].Hdr
	*h = unix.Msghdr{Iov: &vectors[0], Iovlen: uint64(len(vectors))}
	h.Name, h.Namelen = s.names[i].put(s.flow.To, s.flow.ToPort, s.link)
	if len(run) > 1 {
		h.Control = &s.controls[i][0]
		h.SetControllen(s.controls[i].put(uint16(len(run[0].Data) + packet.ICRCSize)))
	}
	s.count++
	s.used += len(run)
}

// put makes a socket address.
func (n *name) put(a netip.Addr, port uint16, l *roce) (*byte, uint32) {
	if a.Is4() {
		n.four = unix.RawSockaddrInet4{Family: unix.AF_INET, Addr: a.As4()}
		binary.BigEndian.PutUint16((*[2]byte)(unsafe.Pointer(&n.four.Port))[:], port)
		return (*byte)(unsafe.Pointer(&n.four)), unix.SizeofSockaddrInet4
	}
	n.six = unix.RawSockaddrInet6{Family: unix.AF_INET6, Addr: a.As16()}
	if l.zone(a) != "" {
		n.six.Scope_id = uint32(l.dev.Index)
	}
	binary.BigEndian.PutUint16((*[2]byte)(unsafe.Pointer(&n.six.Port))[:], port)
	return (*byte)(unsafe.Pointer(&n.six)), unix.SizeofSockaddrInet6
}

// put makes the message that has the kernel cut.
func (c *control) put(size uint16) int {
	h := (*unix.Cmsghdr)(unsafe.Pointer(c))
	h.Level, h.Type = unix.SOL_UDP, unix.UDP_SEGMENT
	h.SetLen(unix.CmsgLen(2))
	binary.NativeEndian.PutUint16(c[unix.CmsgLen(0):], size)
	return unix.CmsgSpace(2)
}

// flush has the kernel send what was added. It waits for room in the socket, which
// the host's own network makes. The error is that of a socket that was closed.
func (s *sender) flush() {
	if s.count > 0 {
		_ = s.raw.Control(s.call)
	}
	s.count, s.used, s.done = 0, 0, 0
}

// write writes messages until all are written. One that cannot be sent is lost.
func (s *sender) write(fd uintptr) {
	for wait := uintptr(unix.MSG_DONTWAIT); s.done < s.count; {
		n, errno := s.writeSome(fd, wait)
		wait = unix.MSG_DONTWAIT
		switch errno {
		case 0:
			s.done += n
		case unix.EAGAIN:
			wait = 0
		case unix.EINTR:
		case unix.EIO, unix.EINVAL, unix.EOPNOTSUPP:
			s.whole = true // this kernel, or this interface, does not cut
			s.done++
		default:
			s.done++
		}
	}
}

// writeSome is one call. The scheduler need only know of one that waits.
func (s *sender) writeSome(fd, flags uintptr) (int, unix.Errno) {
	call := unix.RawSyscall6
	if flags == 0 {
		call = unix.Syscall6
	}
	n, _, errno := call(unix.SYS_SENDMMSG, fd, uintptr(unsafe.Pointer(&s.messages[s.done])), uintptr(s.count-s.done), flags, 0, 0)
	return int(n), errno
}

//go:build amd64 || arm64

package soft

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"heddle/ib"
	"heddle/packet"
	"heddle/verbs"
)

// roce is a link of RoCEv2 on a UDP socket. Runs of packets to one peer are sent
// by one call, which the kernel cuts into packets (UDP_SEGMENT), and what came
// from one peer is received so (UDP_GRO).
//
// The ICRC covers the identification of an IPv4 packet, which a socket neither
// sets nor sees. It is 0 in what an unconnected socket sends that forbids
// fragments, and counts from 0 in what the kernel cuts. Of what comes it is found
// out (see packet.Flow).
type roce struct {
	addr netip.Addr
	six  bool
	own  uint16 // UDP port
	attr LinkAttr
	conn *os.File
	out  sender
	dev  *net.Interface

	receive func([]Packet)
	one     sync.Mutex // receive is called
	tasks   sync.WaitGroup

	list      sync.Mutex // the receivers change
	receivers atomic.Pointer[[]*receiver]
	damaged   atomic.Uint64 // packets with a wrong ICRC
	polls     atomic.Uint64 // how often somebody looked for packets
	sleepers  atomic.Int64  // who waits for what the receivers bring

	mu     sync.Mutex
	groups map[ib.MGID]*receiver // guarded by mu, as all below
	first  *receiver
	closed bool
}

const socketBuffer = 4 << 20

// listen opens a link on an address: on the port of RoCEv2 where it is free.
func listen(a netip.Addr) (Link, error) {
	dev, err := interfaceOf(a)
	if err != nil {
		return nil, err
	}
	l := &roce{addr: a, six: a.Is6(), dev: dev, groups: map[ib.MGID]*receiver{}}
	for _, port := range []uint16{packet.RoCEPort, 0} {
		if l.conn, l.own, err = l.socket(netip.AddrPortFrom(a, port), false); err == nil {
			break
		}
	}
	if err != nil {
		return nil, err
	}
	raw, err := l.conn.SyscallConn()
	if err != nil {
		return nil, errors.Join(err, l.conn.Close())
	}
	l.out.make(l, raw)
	l.attr = LinkAttr{
		Layer: verbs.LinkEthernet, State: verbs.PortActive, GUID: 0x0200_0000_0000_0000 | gidOf(a).GUID()&(1<<56-1),
		MTU: pathMTU(dev.MTU), PKeys: []ib.PKey{ib.DefaultPKey}, Port: l.own,
		GIDs: []verbs.GIDEntry{{GID: gidOf(a), Type: verbs.GIDRoCEv2, Device: dev.Name}},
	}
	return l, nil
}

// socket opens a socket, alone at its address or with others that are of the same
// group, and tells its port. It is none that the runtime watches: receivers do so
// by themselves.
func (l *roce) socket(at netip.AddrPort, shared bool) (*os.File, uint16, error) {
	family := unix.AF_INET
	var name unix.Sockaddr = &unix.SockaddrInet4{Port: int(at.Port())}
	if l.six {
		family = unix.AF_INET6
		six := &unix.SockaddrInet6{Port: int(at.Port()), Addr: at.Addr().As16()}
		if l.zone(at.Addr()) != "" {
			six.ZoneId = uint32(l.dev.Index)
		}
		name = six
	} else {
		name.(*unix.SockaddrInet4).Addr = at.Addr().As4()
	}
	fd, err := unix.Socket(family, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, 0, fmt.Errorf("RoCEv2: socket: %w", err)
	}
	file := os.NewFile(uintptr(fd), "RoCEv2")
	if err = l.options(fd, shared); err == nil {
		err = unix.Bind(fd, name)
	}
	if err == nil {
		name, err = unix.Getsockname(fd)
	}
	if err != nil {
		return nil, 0, errors.Join(fmt.Errorf("RoCEv2 at %v: %w", at, err), file.Close())
	}
	switch name := name.(type) {
	case *unix.SockaddrInet4:
		return file, uint16(name.Port), nil
	case *unix.SockaddrInet6:
		return file, uint16(name.Port), nil
	default:
		return file, at.Port(), nil
	}
}

// options are those of the domain: no fragments, multicast by the address's
// interface, no checksums of IPv6, which adapters leave out.
func (l *roce) options(fd int, shared bool) error {
	set := func(level, option, value int) error {
		if err := unix.SetsockoptInt(fd, level, option, value); err != nil {
			return fmt.Errorf("socket option %d: %w", option, err)
		}
		return nil
	}
	if unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, socketBuffer) != nil {
		_ = set(unix.SOL_SOCKET, unix.SO_RCVBUF, socketBuffer) // as much as there may be
	}
	if unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_SNDBUFFORCE, socketBuffer) != nil {
		_ = set(unix.SOL_SOCKET, unix.SO_SNDBUF, socketBuffer)
	}
	_ = set(unix.SOL_UDP, unix.UDP_GRO, 1) // since Linux 5.0
	var err error
	if shared {
		err = set(unix.SOL_SOCKET, unix.SO_REUSEADDR, 1)
	}
	if l.six {
		return errors.Join(
			err,
			set(unix.IPPROTO_IPV6, unix.IPV6_MTU_DISCOVER, unix.IPV6_PMTUDISC_DO),
			set(unix.IPPROTO_IPV6, unix.IPV6_MULTICAST_IF, l.dev.Index),
			set(unix.SOL_UDP, unix.UDP_NO_CHECK6_RX, 1),
		)
	}
	request := &unix.IPMreqn{Ifindex: int32(l.dev.Index), Address: l.addr.As4()}
	return errors.Join(
		err,
		set(unix.IPPROTO_IP, unix.IP_MTU_DISCOVER, unix.IP_PMTUDISC_DO),
		unix.SetsockoptIPMreqn(fd, unix.IPPROTO_IP, unix.IP_MULTICAST_IF, request),
	)
}

// Attr implements Link.
func (l *roce) Attr() LinkAttr { return l.attr }

// Start implements Link.
func (l *roce) Start(receive func([]Packet)) (err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.receive = receive
	l.first, err = l.listenOn(l.conn, gidOf(l.addr), l.addr)
	return err
}

// listenOn receives from a socket of an address until the receiver is closed,
// which closes the socket.
func (l *roce) listenOn(conn *os.File, local ib.GID, to netip.Addr) (*receiver, error) {
	r, err := newReceiver(l, conn, local, to)
	if err != nil {
		return nil, err
	}
	l.tasks.Go(func() {
		r.run()
		l.update(func(list []*receiver) []*receiver {
			return slices.DeleteFunc(list, func(x *receiver) bool { return x == r })
		})
	})
	l.update(func(list []*receiver) []*receiver { return append(list, r) })
	return r, nil
}

// update changes the list of receivers, of which pollers have copies.
func (l *roce) update(change func([]*receiver) []*receiver) {
	l.list.Lock()
	defer l.list.Unlock()
	var list []*receiver
	if old := l.receivers.Load(); old != nil {
		list = slices.Clone(*old)
	}
	list = change(list)
	l.receivers.Store(&list)
}

// poll implements poller.
func (l *roce) poll() (some bool) {
	l.polls.Add(1)
	if list := l.receivers.Load(); list != nil {
		for _, r := range *list {
			some = r.poll() || some
		}
	}
	return some
}

// sleep implements poller.
func (l *roce) sleep() {
	l.sleepers.Add(1)
	if list := l.receivers.Load(); list != nil {
		for _, r := range *list {
			r.rouse()
		}
	}
}

// wake implements poller.
func (l *roce) wake() { l.sleepers.Add(-1) }

// Send implements Link.
func (l *roce) Send(batch []Packet) { l.out.send(batch) }

// Join implements Link: it opens a socket of the group.
func (l *roce) Join(group ib.MGID, _ ib.MLID) error {
	to, err := addrOf(ib.GID(group), l.six)
	if err != nil {
		return err
	}
	if !to.IsMulticast() {
		return fmt.Errorf("%v is no group: %w", to, verbs.ErrInvalid)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed || l.groups[group] != nil {
		return nil
	}
	conn, _, err := l.socket(netip.AddrPortFrom(to, packet.RoCEPort), true)
	if err != nil {
		return err
	}
	err = l.membership(conn, to)
	if err == nil {
		l.groups[group], err = l.listenOn(conn, ib.GID(group), to)
	}
	if err != nil {
		delete(l.groups, group)
		return errors.Join(err, conn.Close())
	}
	return nil
}

// zone is the interface's name where an address means nothing without it.
func (l *roce) zone(a netip.Addr) string {
	if a.Is6() && (a.IsLinkLocalUnicast() || a.IsLinkLocalMulticast() || a.IsInterfaceLocalMulticast()) {
		return l.dev.Name
	}
	return ""
}

// membership has the kernel, and the network's switches, know that the group is
// listened to (IGMP, MLD).
func (l *roce) membership(conn *os.File, to netip.Addr) error {
	raw, err := conn.SyscallConn()
	if err != nil {
		return fmt.Errorf("join %v: %w", to, err)
	}
	var fault error
	err = raw.Control(func(fd uintptr) {
		if l.six {
			fault = unix.SetsockoptIPv6Mreq(int(fd), unix.IPPROTO_IPV6, unix.IPV6_JOIN_GROUP,
				&unix.IPv6Mreq{Multiaddr: to.As16(), Interface: uint32(l.dev.Index)})
			return
		}
		fault = unix.SetsockoptIPMreqn(int(fd), unix.IPPROTO_IP, unix.IP_ADD_MEMBERSHIP,
			&unix.IPMreqn{Multiaddr: to.As4(), Address: l.addr.As4(), Ifindex: int32(l.dev.Index)})
	})
	if err = errors.Join(err, fault); err != nil {
		return fmt.Errorf("join %v: %w", to, err)
	}
	return nil
}

// Leave implements Link.
func (l *roce) Leave(group ib.MGID, _ ib.MLID) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.groups[group]
	delete(l.groups, group)
	if r == nil {
		return nil
	}
	return r.close()
}

// Close implements Link.
func (l *roce) Close() error {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return nil
	}
	l.closed = true
	var err error
	if l.first == nil {
		err = l.conn.Close()
	} else {
		err = l.first.close()
	}
	for _, r := range l.groups {
		err = errors.Join(err, r.close())
	}
	l.mu.Unlock()
	l.tasks.Wait()
	return err
}

// give gives packets to the device.
func (l *roce) give(batch []Packet) {
	l.one.Lock()
	defer l.one.Unlock()
	l.receive(batch)
}

// trailer is the ICRC of a packet, behind its data.
func trailer(data []byte, f *packet.Flow) []byte {
	sum, _ := f.ICRC(data) // the engine's packets have a BTH
	return binary.LittleEndian.AppendUint32(data, sum)
}

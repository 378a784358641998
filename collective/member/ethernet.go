package member

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"

	"golang.org/x/net/ipv4"
	"golang.org/x/net/ipv6"

	"heddle/collective"
	"heddle/ib"
)

// Ethernet is a member of an IP multicast group of RoCEv2. The device's Attach has
// the adapter take the group's packets; this has the kernel tell the network, by
// IGMP or MLD, so that switches send them here. It is for one rank.
type Ethernet struct {
	// Interface is where the group is joined.
	Interface *net.Interface
	Group     netip.Addr
	QKey      ib.QKey // the same at all members; 0x0b1b by default
	HopLimit  uint8   // 1 by default: it stays in the subnet

	conn net.PacketConn
}

var _ collective.Joiner = (*Ethernet)(nil)

// MGID is how RoCEv2 calls an IP multicast group: an IPv4 address stands in the
// last 32 bits of ff0e::ffff:0:0/96.
func MGID(group netip.Addr) (ib.MGID, error) {
	if !group.IsMulticast() {
		return ib.MGID{}, fmt.Errorf("%v is no multicast address", group)
	}
	b := group.As16()
	if group.Is4() {
		b[0], b[1] = 0xff, 0x0e
	}
	return ib.MGID(b), nil
}

// Join implements collective.Joiner.
func (e *Ethernet) Join(ctx context.Context) (collective.Multicast, error) {
	mgid, err := MGID(e.Group)
	if err != nil {
		return collective.Multicast{}, err
	}
	network, address := "udp4", "0.0.0.0:0"
	if !e.Group.Is4() {
		network, address = "udp6", "[::]:0"
	}
	var lc net.ListenConfig
	if e.conn, err = lc.ListenPacket(ctx, network, address); err != nil {
		return collective.Multicast{}, err
	}
	if err := e.join(); err != nil {
		return collective.Multicast{}, errors.Join(fmt.Errorf("join %v: %w", e.Group, err), e.conn.Close())
	}
	m := collective.Multicast{Group: mgid, QKey: e.QKey, HopLimit: e.HopLimit}
	if m.QKey == 0 {
		m.QKey = defaultQKey
	}
	return m, nil
}

func (e *Ethernet) join() error {
	group := &net.UDPAddr{IP: e.Group.AsSlice()}
	if e.Group.Is4() {
		return ipv4.NewPacketConn(e.conn).JoinGroup(e.Interface, group)
	}
	return ipv6.NewPacketConn(e.conn).JoinGroup(e.Interface, group)
}

// Ready implements collective.Joiner: nobody can tell, and the notice of rank 0 is
// repeated until all have it.
func (e *Ethernet) Ready(context.Context) error { return nil }

// Leave implements collective.Joiner: the kernel leaves the group with its socket.
func (e *Ethernet) Leave(context.Context) error {
	if e.conn == nil {
		return nil
	}
	return e.conn.Close()
}

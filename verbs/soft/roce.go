package soft

import (
	"cmp"
	"fmt"
	"net"
	"net/netip"

	"heddle/ib"
	"heddle/packet"
	"heddle/verbs"
)

// Provider lists a device for each address of the host, by which it speaks RoCEv2.
// The first process that opens one has UDP port 4791 of the address, where any
// RoCEv2 device reaches it; others have a port of their own there, which only the
// endpoints of this package tell of.
type Provider struct{}

// Name implements verbs.Provider.
func (Provider) Name() string { return "soft" }

// Devices implements verbs.Provider.
func (Provider) Devices() ([]verbs.Device, error) {
	var list []verbs.Device
	interfaces, err := net.Interfaces()
	if err != nil {
		return nil, fmt.Errorf("list network interfaces: %w", err)
	}
	for _, i := range interfaces {
		if i.Flags&net.FlagUp == 0 {
			continue
		}
		addrs, err := i.Addrs()
		if err != nil {
			return nil, fmt.Errorf("addresses of %s: %w", i.Name, err)
		}
		for _, a := range addrs {
			if prefix, err := netip.ParsePrefix(a.String()); err == nil {
				list = append(list, OnAddress(zoned(prefix.Addr(), i.Name)))
			}
		}
	}
	if list == nil {
		return nil, fmt.Errorf("no interface with an address is up: %w", verbs.ErrNoDevice)
	}
	return list, nil
}

// zoned names the interface of an address that means nothing without it.
func zoned(a netip.Addr, name string) netip.Addr {
	if a.Is6() && a.IsLinkLocalUnicast() {
		return a.WithZone(name)
	}
	return a
}

// OnAddress is the device of an address of the host, whose name is the address.
func OnAddress(a netip.Addr) *Device {
	a = a.Unmap()
	return NewDevice(a.String(), func() (Link, error) { return listen(a) })
}

// interfaceOf is the interface that has an address. All of 127.0.0.0/8 is that of
// the loopback.
func interfaceOf(a netip.Addr) (*net.Interface, error) {
	interfaces, err := net.Interfaces()
	if err != nil {
		return nil, fmt.Errorf("list network interfaces: %w", err)
	}
	for _, i := range interfaces {
		addrs, err := i.Addrs()
		if err != nil {
			return nil, fmt.Errorf("addresses of %s: %w", i.Name, err)
		}
		for _, x := range addrs {
			prefix, err := netip.ParsePrefix(x.String())
			if err == nil && (prefix.Addr() == a.WithZone("") && a.Zone() == zoned(prefix.Addr(), i.Name).Zone() || a.IsLoopback() && prefix.Contains(a)) {
				return &i, nil
			}
		}
	}
	return nil, fmt.Errorf("no interface has %v: %w", a, verbs.ErrNoDevice)
}

// pathMTU is the largest MTU that fits an interface's, with all headers.
func pathMTU(n int) ib.MTU {
	const headers = packet.IPv6Size + packet.UDPSize + packet.MaxHeaders + packet.ICRCSize
	for m := ib.MTU4096; m > ib.MTU256; m-- {
		if m.Bytes()+headers <= n {
			return m
		}
	}
	return ib.MTU256
}

// gidOf is the GID of an address.
func gidOf(a netip.Addr) ib.GID { return a.As16() }

// isMapped tells whether the end of a GID is an IPv4 address: ::ffff:a.b.c.d, or of
// groups also ff0e::ffff:a.b.c.d.
func isMapped(g ib.GID) bool {
	if g[0] == 0xff {
		g[0], g[1] = 0, 0
	}
	return [12]byte(g[:12]) == [12]byte{10: 0xff, 11: 0xff}
}

// addrOf is the address of a GID, or of a group, in the family of a link.
func addrOf(g ib.GID, six bool) (netip.Addr, error) {
	switch mapped := isMapped(g); {
	case mapped && !six:
		return netip.AddrFrom4([4]byte(g[12:])), nil
	case six && (!mapped || g[0] == 0xff):
		return netip.AddrFrom16(g), nil
	default:
		return netip.Addr{}, fmt.Errorf("GID %v is of another family of addresses: %w", g, verbs.ErrInvalid)
	}
}

// portOf is the UDP port of a path.
func portOf(p *Path) uint16 { return cmp.Or(p.Port, packet.RoCEPort) }

package cm

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"

	"heddle/verbs"
)

// Network is what Addr calls its network, and DialContext wants to be asked for.
const Network = "rdma"

// Addr is an address of the connection manager: an IP address that leads to a
// device, and a port of its own space beside that of TCP.
type Addr netip.AddrPort

// Network implements net.Addr.
func (Addr) Network() string { return Network }

func (a Addr) String() string { return netip.AddrPort(a).String() }

// lookup gives the addresses that "host:port" names; without a host it is any
// address of this machine.
func lookup(ctx context.Context, address string) ([]netip.AddrPort, error) {
	host, service, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", verbs.ErrInvalid, err)
	}
	port, err := net.DefaultResolver.LookupPort(ctx, "tcp", service)
	if err != nil {
		return nil, err
	}
	if host == "" {
		return []netip.AddrPort{netip.AddrPortFrom(netip.IPv6Unspecified(), uint16(port))}, nil
	}
	ips, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return nil, err
	}
	var all []netip.AddrPort
	for _, ip := range ips {
		all = append(all, netip.AddrPortFrom(ip.Unmap(), uint16(port)))
	}
	return all, nil
}

// zoneOf is the number of the interface that a link-local address is of; 0 of all
// others.
func zoneOf(a netip.AddrPort) (uint32, error) {
	zone := a.Addr().Zone()
	if zone == "" {
		return 0, nil
	}
	if n, err := strconv.ParseUint(zone, 10, 32); err == nil {
		return uint32(n), nil
	}
	i, err := net.InterfaceByName(zone)
	if err != nil {
		return 0, fmt.Errorf("zone of %v: %w", a, err)
	}
	return uint32(i.Index), nil
}

// first calls f for one address after the other, until it succeeds. Its error is
// that of all.
func first[T any](ctx context.Context, address string, f func(netip.AddrPort, uint32) (T, error)) (v T, err error) {
	all, err := lookup(ctx, address)
	if err != nil {
		return v, err
	}
	var failed error
	for _, a := range all {
		zone, err := zoneOf(a)
		if err == nil {
			if v, err = f(a, zone); err == nil {
				return v, nil
			}
		}
		failed = errors.Join(failed, err)
	}
	return v, failed
}

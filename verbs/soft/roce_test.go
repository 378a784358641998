//go:build linux && (amd64 || arm64)

package soft_test

import (
	"errors"
	"net"
	"net/netip"
	"os"
	"testing"
	"time"

	"heddle/ib"
	"heddle/verbs"
	"heddle/verbs/soft"
	"heddle/verbs/verbstest"
)

// loopback is an address of the host that other test processes do not use at the
// same time.
func loopback(number int) netip.Addr {
	pid := os.Getpid()
	return netip.AddrFrom4([4]byte{127, byte(64 + number), byte(pid >> 8), byte(pid)})
}

// hasIPv6 tells whether the host has it: containers often do not.
func hasIPv6() bool {
	conn, err := net.ListenPacket("udp6", "[::1]:0")
	return err == nil && conn.Close() == nil
}

// TestConformanceRoCE runs the suite over UDP, on two addresses of the loopback
// and on one, by IPv4 and IPv6.
func TestConformanceRoCE(t *testing.T) {
	for _, test := range []struct {
		name      string
		near, far netip.Addr
	}{
		{"two addresses", loopback(1), loopback(2)},
		{"one address", loopback(1), loopback(1)},
		{"IPv6", netip.IPv6Loopback(), netip.IPv6Loopback()},
	} {
		t.Run(test.name, func(t *testing.T) {
			if test.near.Is6() && !hasIPv6() {
				t.Skip("the loopback has no IPv6")
			}
			verbstest.Run(t, verbstest.Suite{
				MaxSize: 1 << 20, // of UC, more may be too much for a socket
				Moment:  10 * time.Millisecond,
				Open: func(tb testing.TB) (near, far verbs.Context) {
					dev := soft.OnAddress(test.near)
					near = open(tb, dev)
					if test.far != test.near {
						dev = soft.OnAddress(test.far)
					}
					return near, open(tb, dev)
				},
			})
		})
	}
}

// TestMisfits: endpoints that no packet would get to are refused at once.
func TestMisfits(t *testing.T) {
	near := newSide(t, soft.OnAddress(loopback(3)), 4096)
	good := get[verbs.EndpointAttr](t)(verbs.ParseEndpoint(near.qp.Endpoint()))
	for name, change := range map[string]func(e *verbs.EndpointAttr){
		"IPv6":       func(e *verbs.EndpointAttr) { e.GID = ib.MustParseGID("fd00::1") },
		"RoCE v1":    func(e *verbs.EndpointAttr) { e.GIDType = verbs.GIDRoCEv1 },
		"InfiniBand": func(e *verbs.EndpointAttr) { e.Link = verbs.LinkInfiniBand },
		"service":    func(e *verbs.EndpointAttr) { e.Type = verbs.UC },
	} {
		e := good
		change(&e)
		if err := near.qp.Connect(t.Context(), e.Encode()); !errors.Is(err, verbs.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := near.qp.Connect(t.Context(), good.Encode()); err != nil {
		t.Error(err)
	}
}

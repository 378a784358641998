//go:build linux && (amd64 || arm64)

package soft_test

import (
	"net"
	"net/netip"
	"os"
	"testing"
	"time"

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

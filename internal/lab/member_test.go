package lab_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sync/errgroup"

	"heddle/collective"
	"heddle/collective/member"
	"heddle/fabric/topology"
	"heddle/ib"
	"heddle/internal/lab"
	"heddle/verbs/sim"
)

var group = ib.MustParseMGID("ff12:401b:ffff::aaaa")

// start brings a small fat tree up, in a bubble.
func start(t *testing.T, test func(t *testing.T, l *lab.Lab)) {
	t.Helper()
	f, err := topology.Generate("fat-tree:k=4")
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		l, err := lab.Start(t.Context(), f, lab.Config{})
		if err != nil {
			t.Fatal(err)
		}
		test(t, l)
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
}

// rank makes a rank of a group whose ports join at the lab's manager; its messages
// go over a simulated network.
func rank(ctx context.Context, l *lab.Lab, net *sim.Network, r, size int, ports uint16, exchange collective.Exchange) error {
	client, err := l.Hosts()[r].SA()
	if err != nil {
		return err
	}
	dev, err := net.Add(fmt.Sprint("rank", r))
	if err != nil {
		return err
	}
	opened, err := dev.Open()
	if err != nil {
		return err
	}
	defer opened.Close() //nolint:errcheck // the group's Close tells
	cfg := collective.Config{Joiner: &member.Subnet{Client: client, Group: group, Ports: ports}, Slots: 16}
	g, err := collective.New(ctx, opened, r, size, exchange, cfg)
	if err != nil {
		return err
	}
	buf := make([]byte, 100_000)
	if r == 0 {
		copy(buf, bytes.Repeat([]byte("news"), 25_000))
	}
	if err := g.Bcast(ctx, 0, buf); err != nil {
		return err
	}
	if !bytes.Equal(buf, bytes.Repeat([]byte("news"), 25_000)) {
		return errors.New("the bytes differ")
	}
	if err := g.Barrier(ctx); err != nil {
		return err
	}
	return g.Close()
}

func ranks(ctx context.Context, t *testing.T, l *lab.Lab, size int, ports uint16) error {
	t.Helper()
	net, err := sim.New(sim.Config{Clock: sim.Real})
	if err != nil {
		t.Fatal(err)
	}
	defer net.Close() //nolint:errcheck // nothing is left
	exchanges := collective.LocalExchange(size)
	var all errgroup.Group
	for r := range size {
		all.Go(func() error { return rank(ctx, l, net, r, size, ports, exchanges[r]) })
	}
	return all.Wait()
}

// TestSubnet: all ports join, the manager routes the group once, rank 0 hears of it
// and tells the others.
func TestSubnet(t *testing.T) {
	start(t, func(t *testing.T, l *lab.Lab) {
		for _, ports := range []uint16{8, 0} {
			if err := ranks(t.Context(), t, l, 8, ports); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// TestMissingPort: the group that is never complete is told of by name.
func TestMissingPort(t *testing.T) {
	start(t, func(t *testing.T, l *lab.Lab) {
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		err := ranks(ctx, t, l, 4, 5)
		if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "4 of 5 ports") && !strings.Contains(err.Error(), "notice of rank 0") {
			t.Errorf("%v", err)
		}
	})
}

// TestEthernet: the kernel is a member as long as the rank is.
func TestEthernet(t *testing.T) {
	lo, err := net.InterfaceByName("lo")
	if err != nil {
		t.Fatal(err)
	}
	e := &member.Ethernet{Interface: lo, Group: netip.MustParseAddr("239.1.2.3")}
	m, err := e.Join(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if want := ib.MustParseMGID("ff0e::ffff:ef01:203"); m.Group != want {
		t.Errorf("group %v, want %v", m.Group, want)
	}
	if !joined(t, lo, "239.1.2.3") {
		t.Error("the kernel is no member")
	}
	if err := errors.Join(e.Ready(t.Context()), e.Leave(t.Context())); err != nil {
		t.Fatal(err)
	}
	if joined(t, lo, "239.1.2.3") {
		t.Error("the kernel is a member after Leave")
	}
	e.Group = netip.MustParseAddr("127.0.0.1")
	if _, err := e.Join(t.Context()); err == nil {
		t.Error("joined an address that is no group")
	}
}

func joined(t *testing.T, ifi *net.Interface, group string) bool {
	t.Helper()
	addrs, err := ifi.MulticastAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range addrs {
		if strings.HasPrefix(a.String(), group) {
			return true
		}
	}
	return false
}

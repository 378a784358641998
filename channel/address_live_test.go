package channel

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"testing"
	"time"

	"golang.org/x/net/nettest"

	"heddle/ib"
	"heddle/verbs"
	"heddle/verbs/cm"
	"heddle/verbs/ibv"
)

// The tests of this file are of the kernel's connection manager, in the virtual
// machine, whose device has this address.
const addressOfRXE = "10.9.8.1"

// addressTests are run by TestKernel, as liveTests are; they need a kernel's device.
var addressTests = []string{"TestAddresses", "TestAddressConn", "TestAddressKeepAlive", "TestAddressRefusals", "TestAddressPeerDies"}

// managerOnKernel makes a connection manager.
func managerOnKernel(t *testing.T) *cm.Manager {
	t.Helper()
	if !onKernel() {
		t.Skip("TestKernel runs it, on a device of the kernel")
	}
	m := cm.NewManager(&ibv.Provider{})
	t.Cleanup(func() { must(t, m.Close()) })
	return m
}

func listenAt(t *testing.T, m *cm.Manager, address string) *cm.Listener {
	t.Helper()
	l, err := m.Listen(t.Context(), address, func(err error) { t.Errorf("refused: %v", err) })
	must(t, err)
	return l
}

// TestAddresses: two sides that know nothing but an address have a connection of
// channels, on the device that the address leads to.
func TestAddresses(t *testing.T) {
	server, client := managerOnKernel(t), managerOnKernel(t)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	at := func(m *cm.Manager) *Transport {
		dev, path, err := m.Resolve(ctx, addressOfRXE+":0")
		must(t, err)
		want := verbs.Path{Device: os.Getenv(deviceVariable), Port: 1, GID: ib.MustParseGID("::ffff:" + addressOfRXE)}
		if path != want || dev.Name() != want.Device {
			t.Errorf("device %s, %+v, want %+v", dev.Name(), path, want)
		}
		tr, err := NewTransportOn(dev, path)
		must(t, err)
		t.Cleanup(func() { must(t, tr.Close()) })
		return tr
	}
	near, far := at(client), at(server)
	cfg := LinkConfig{Secret: []byte("a secret"), Dial: client.DialContext}
	conns := listenAt(t, server, addressOfRXE+":0")
	l := far.ListenConn(conns, cfg, func(err error) { t.Errorf("refused: %v", err) })
	defer l.Close()
	echoed := make(chan error, 1)
	go func() {
		c, err := l.Accept()
		if err == nil {
			_, err = io.Copy(c, c)
			err = errors.Join(err, c.Close())
		}
		echoed <- err
	}()
	c, err := near.DialConn(ctx, cm.Network, conns.Addr().String(), cfg)
	must(t, err)
	t.Logf("%v is connected with %v", c.LocalAddr(), c.RemoteAddr())
	sent := bytes.Repeat([]byte("by address "), 5000)
	go func() { _, _ = c.Write(sent) }() // what is missing is seen by who reads
	got := make([]byte, len(sent))
	if _, err := io.ReadFull(c, got); err != nil || !bytes.Equal(got, sent) {
		t.Errorf("the echo differs, %v", err)
	}
	must(t, c.Close())
	must(t, <-echoed)
}

// TestAddressConn holds the connections themselves against what net.Conn promises.
func TestAddressConn(t *testing.T) {
	server, client := managerOnKernel(t), managerOnKernel(t)
	l := listenAt(t, server, ":0")
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	must(t, err)
	nettest.TestConn(t, func() (c1, c2 net.Conn, stop func(), err error) {
		accepted := make(chan error, 1)
		go func() {
			var err error
			c1, err = l.Accept()
			accepted <- err
		}()
		c2, err = client.DialContext(t.Context(), cm.Network, net.JoinHostPort(addressOfRXE, port))
		if err == nil {
			err = <-accepted
		}
		return c1, c2, func() { _ = c1.Close(); _ = c2.Close() }, err
	})
}

// TestAddressKeepAlive: a connection that is idle, but for signs of life, goes on.
func TestAddressKeepAlive(t *testing.T) {
	m := managerOnKernel(t)
	m.KeepAlive = 5 * time.Millisecond
	l := listenAt(t, m, addressOfRXE+":0")
	defer l.Close()
	accepted := make(chan net.Conn, 1)
	go func() {
		c, err := l.Accept()
		if err != nil {
			t.Error(err)
		}
		accepted <- c
	}()
	near, err := m.Dial(t.Context(), l.Addr().String())
	must(t, err)
	far := <-accepted
	b := make([]byte, 16)
	must(t, near.SetReadDeadline(time.Now().Add(200*time.Millisecond)))
	if n, err := near.Read(b); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("nothing was sent: %d, %v", n, err)
	}
	must(t, near.SetReadDeadline(time.Now().Add(patience)))
	_, err = far.Write([]byte("still there"))
	must(t, err)
	if n, err := near.Read(b); string(b[:n]) != "still there" || err != nil {
		t.Errorf("%q, %v", b[:n], err)
	}
	must(t, far.Close())
	if n, err := near.Read(b); !errors.Is(err, io.EOF) {
		t.Errorf("after close: %d, %v", n, err)
	}
	if _, err := near.Write(b); !errors.Is(err, verbs.ErrPeerGone) {
		t.Errorf("to who has gone: %v", err)
	}
	must(t, near.Close())
}

// TestAddressRefusals: what cannot be reached, and who does not want to, is told
// apart, and nothing waits beyond its context.
func TestAddressRefusals(t *testing.T) {
	m := managerOnKernel(t)
	for _, test := range []struct {
		name, address string
		time          time.Duration
		want          error
	}{
		{"no route", "10.77.0.1:7", patience, cm.ErrUnreachable},
		{"nobody listens", addressOfRXE + ":7", patience, cm.ErrRejected},
		{"a host that is not there", "10.9.8.77:7", 300 * time.Millisecond, context.DeadlineExceeded},
		{"no address", "10.9.8.1", patience, verbs.ErrInvalid},
	} {
		t.Run(test.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), test.time)
			defer cancel()
			_, err := m.Dial(ctx, test.address)
			if !errors.Is(err, test.want) {
				t.Errorf("%v, want %v", err, test.want)
			}
			t.Log(err)
		})
	}
	if _, err := m.Listen(t.Context(), "10.77.0.1:7", nil); !errors.Is(err, cm.ErrUnreachable) {
		t.Errorf("listening at a foreign address: %v", err)
	}
	l := listenAt(t, m, addressOfRXE+":0")
	if _, err := m.Listen(t.Context(), l.Addr().String(), nil); err == nil {
		t.Error("two listen at one address")
	}
	must(t, l.Close())
	if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("accept after close: %v", err)
	}
}

// dialerVariable has this program dial an address and wait to be killed.
const dialerVariable = "HEDDLE_CHANNEL_DIALER"

func beDialer(address string) error {
	m := cm.NewManager(&ibv.Provider{})
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	_, err := Dial(ctx, cm.Network, address, LinkConfig{Dial: m.DialContext})
	if err != nil {
		return err
	}
	fmt.Println("linked")
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// TestAddressPeerDies: a link ends when the peer's process is killed.
func TestAddressPeerDies(t *testing.T) {
	m := managerOnKernel(t)
	conns := listenAt(t, m, addressOfRXE+":0")
	l := Listen(conns, LinkConfig{}, func(err error) { t.Errorf("refused: %v", err) })
	defer l.Close()
	program, err := os.Executable()
	must(t, err)
	peer := exec.CommandContext(t.Context(), program)
	peer.Env = append(os.Environ(), dialerVariable+"="+conns.Addr().String())
	peer.Stderr = os.Stderr
	_, err = peer.StdinPipe() // it waits for its end
	must(t, err)
	out, err := peer.StdoutPipe()
	must(t, err)
	must(t, peer.Start())
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	link, err := l.AcceptLink(ctx)
	must(t, err)
	line := make([]byte, len("linked\n"))
	if _, err := io.ReadFull(out, line); err != nil {
		t.Fatalf("the peer says %q, %v", line, err)
	}
	must(t, peer.Process.Kill())
	_ = peer.Wait() // it was killed
	killed := time.Now()
	select {
	case <-link.Done():
		t.Logf("the link ended %v after the peer: %v", time.Since(killed), link.Err())
	case <-ctx.Done():
		t.Fatal("the link goes on")
	}
	if !errors.Is(link.Err(), ErrPeerGone) {
		t.Errorf("the link ended: %v", link.Err())
	}
	must(t, link.Close())
}

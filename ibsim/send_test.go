//go:build linux

package ibsim

import (
	"errors"
	"fmt"
	"net"
	"os"
	"testing"
)

// TestSender: a receiver that does not read has no room after a while; what it
// did not read stays in order.
func TestSender(t *testing.T) {
	names := Names(fmt.Sprint("heddle-send-", os.Getpid()))
	in, out := listen(t, names.Client(1)), listen(t, names.Server())
	s, err := NewSender(out)
	if err != nil {
		t.Fatal(err)
	}
	var fits byte
	for err == nil && fits < 255 {
		if err = s.SendTo([]byte{fits}, names.Client(1)); err == nil {
			fits++
		}
	}
	if !errors.Is(err, ErrNoRoom) || fits == 0 {
		t.Fatalf("after %d datagrams: %v", fits, err)
	}
	if err := ConnectSocket(out, names.Client(1)); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 2)
	for i := range fits {
		if n, err := in.Read(b); err != nil || n != 1 || b[0] != i {
			t.Fatalf("read %x, %v, want %x", b[:n], err, i)
		}
	}
	if err := s.Send([]byte{42}); err != nil {
		t.Error(err)
	}
	if n, err := in.Read(b); err != nil || n != 1 || b[0] != 42 {
		t.Errorf("read %x, %v", b[:n], err)
	}
	in.Close() //nolint:errcheck // what counts is that it is closed
	if err := s.Send([]byte{43}); err == nil || errors.Is(err, ErrNoRoom) {
		t.Errorf("to nobody: %v", err)
	}
	out.Close() //nolint:errcheck // likewise
	if err := s.Send([]byte{44}); !errors.Is(err, net.ErrClosed) {
		t.Errorf("from a closed socket: %v", err)
	}
}

func TestSenderAllocatesNothing(t *testing.T) {
	names := Names(fmt.Sprint("heddle-send-", os.Getpid()))
	in, out := listen(t, names.In(1)), listen(t, names.Out(1))
	if err := ConnectSocket(out, names.In(1)); err != nil {
		t.Fatal(err)
	}
	s, err := NewSender(out)
	if err != nil {
		t.Fatal(err)
	}
	var p Packet
	allocs := testing.AllocsPerRun(100, func() {
		if err := s.Send(p[:]); err != nil {
			t.Fatal(err)
		}
		if _, err := in.Read(p[:]); err != nil {
			t.Fatal(err)
		}
	})
	if allocs > 0 {
		t.Errorf("%v allocations", allocs)
	}
}

func listen(t *testing.T, addr *net.UnixAddr) *net.UnixConn {
	t.Helper()
	conn, err := net.ListenUnixgram("unixgram", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() }) //nolint:errcheck // some are closed already
	return conn
}

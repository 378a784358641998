//go:build linux

package ibsim

import (
	"errors"
	"fmt"
	"net"
	"os"
	"testing"
	"time"
)

// numbered makes packets that are told apart by their lengths.
func numbered(from, n int) []Packet {
	list := make([]Packet, n)
	for i := range list {
		list[i].SetLength(uint64(from + i))
	}
	return list
}

// connected makes two sockets that are connected with each other.
func connected(t *testing.T) (a, b *net.UnixConn) {
	t.Helper()
	names := Names(fmt.Sprint("heddle-packets-", os.Getpid()))
	a, b = listen(t, names.In(1)), listen(t, names.Out(1))
	for conn, peer := range map[*net.UnixConn]*net.UnixAddr{a: names.Out(1), b: names.In(1)} {
		if err := ConnectSocket(conn, peer); err != nil {
			t.Fatal(err)
		}
	}
	return a, b
}

// eachKind tests two connected sockets as package net makes them, and as Quiet
// does.
func eachKind(t *testing.T, test func(t *testing.T, a, b Conn)) {
	t.Run("net", func(t *testing.T) {
		a, b := connected(t)
		test(t, a, b)
	})
	t.Run("quiet", func(t *testing.T) {
		a, b := connected(t)
		test(t, quieted(t, a), quieted(t, b))
	})
}

func quieted(t *testing.T, conn Conn) Conn {
	t.Helper()
	q, err := Quiet(conn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { q.Close() }) //nolint:errcheck // some are closed already
	return q
}

func reader(t *testing.T, conn Conn) *Reader {
	t.Helper()
	r, err := NewReader(conn)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func sender(t *testing.T, conn Conn) *Sender {
	t.Helper()
	s, err := NewSender(conn)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// readAll reads n packets and checks their order.
func readAll(t *testing.T, r *Reader, from, n int) (reads int) {
	t.Helper()
	for end := from + n; from < end; reads++ {
		packets, err := r.Read()
		if err != nil {
			t.Fatal(err)
		}
		for i := range packets {
			if got := packets[i].Length(); got != uint64(from) {
				t.Fatalf("packet %d, want %d", got, from)
			}
			from++
		}
	}
	return reads
}

// TestManyPackets: many are sent and read in order, 64 with each call.
func TestManyPackets(t *testing.T) { eachKind(t, testManyPackets) }

func testManyPackets(t *testing.T, a, b Conn) {
	s, r := sender(t, a), reader(t, b)
	for _, n := range []int{1, 2, batch - 1, batch, batch + 1, 150} {
		if sent, err := s.SendAll(numbered(n, n)); sent != n || err != nil {
			t.Fatalf("%d of %d sent: %v", sent, n, err)
		}
		if reads, want := readAll(t, r, n, n), (n+batch-1)/batch; reads != want {
			t.Errorf("%d packets with %d reads, want %d", n, reads, want)
		}
	}
}

// TestNoRoomForAll: what fits is sent, and nothing of what does not; who waits
// gets the rest sent.
func TestNoRoomForAll(t *testing.T) { eachKind(t, testNoRoomForAll) }

func testNoRoomForAll(t *testing.T, a, b Conn) {
	s, r := sender(t, a), reader(t, b)
	all := numbered(0, 5000)
	sent, err := s.SendAll(all)
	if !errors.Is(err, ErrNoRoom) || sent == 0 || sent == len(all) {
		t.Fatalf("%d of %d sent: %v", sent, len(all), err)
	}
	done := make(chan error, 1)
	go func() {
		n, err := s.WaitAll(all[sent:])
		if n != len(all)-sent {
			err = errors.Join(err, fmt.Errorf("%d of %d sent", n, len(all)-sent))
		}
		done <- err
	}()
	readAll(t, r, 0, len(all))
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// TestOtherLengths: what is no packet is left out, and the order stays.
func TestOtherLengths(t *testing.T) { eachKind(t, testOtherLengths) }

func testOtherLengths(t *testing.T, a, b Conn) {
	s, r := sender(t, a), reader(t, b)
	for i, p := range numbered(0, 3) {
		if err := s.Send(p[:]); err != nil {
			t.Fatal(err)
		}
		for _, size := range []int{0, 1, PacketSize - 1, PacketSize + 1 + i} {
			if err := s.Send(make([]byte, size)); err != nil {
				t.Fatal(err)
			}
		}
	}
	readAll(t, r, 0, 3)
	if err := b.SetReadDeadline(time.Now().Add(-time.Second)); err != nil {
		t.Fatal(err)
	}
	if packets, err := r.Read(); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("read %d packets, %v", len(packets), err)
	}
}

// TestPacketsEnd: the error is the socket's.
func TestPacketsEnd(t *testing.T) { eachKind(t, testPacketsEnd) }

func testPacketsEnd(t *testing.T, a, b Conn) {
	s, r := sender(t, a), reader(t, b)
	b.Close() //nolint:errcheck // what counts is that it is closed
	if packets, err := r.Read(); !errors.Is(err, net.ErrClosed) || len(packets) > 0 {
		t.Errorf("read %d packets, %v", len(packets), err)
	}
	if sent, err := s.SendAll(numbered(0, 3)); err == nil || errors.Is(err, ErrNoRoom) || sent > 0 {
		t.Errorf("to nobody: %d sent, %v", sent, err)
	}
	a.Close() //nolint:errcheck // likewise
	if sent, err := s.WaitAll(numbered(0, 3)); !errors.Is(err, net.ErrClosed) || sent > 0 {
		t.Errorf("from a closed socket: %d sent, %v", sent, err)
	}
}

func TestPacketsAllocateNothing(t *testing.T) { eachKind(t, testPacketsAllocateNothing) }

func testPacketsAllocateNothing(t *testing.T, a, b Conn) {
	s, r := sender(t, a), reader(t, b)
	packets := numbered(0, 20)
	allocs := testing.AllocsPerRun(100, func() {
		if _, err := s.SendAll(packets); err != nil {
			t.Fatal(err)
		}
		if _, err := r.Read(); err != nil {
			t.Fatal(err)
		}
	})
	if allocs > 0 {
		t.Errorf("%v allocations", allocs)
	}
}

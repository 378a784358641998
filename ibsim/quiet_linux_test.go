package ibsim

import (
	"errors"
	"net"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// wakes tells whether the poller would be woken up for a quiet socket.
func wakes(t *testing.T, conn Conn) bool {
	t.Helper()
	var n int
	var failed error
	err := conn.(*quiet).raw.Control(func(fd uintptr) {
		n, failed = unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN | unix.POLLOUT}}, 0)
	})
	if err := errors.Join(err, failed); err != nil {
		t.Fatal(err)
	}
	return n > 0
}

// TestQuiet: room to send wakes nobody up, also where the peer makes it; what
// comes does.
func TestQuiet(t *testing.T) {
	x, b := connected(t)
	a := quieted(t, x)
	if wakes(t, a) {
		t.Error("woken up for nothing")
	}
	if _, err := sender(t, a).SendAll(numbered(0, 3)); err != nil {
		t.Fatal(err)
	}
	readAll(t, reader(t, b), 0, 3)
	if wakes(t, a) {
		t.Error("woken up by what the peer took")
	}
	if _, err := sender(t, b).SendAll(numbered(3, 1)); err != nil {
		t.Fatal(err)
	}
	if !wakes(t, a) {
		t.Error("not woken up by a packet")
	}
	readAll(t, reader(t, a), 3, 1)
	if wakes(t, a) {
		t.Error("woken up by a packet that was read")
	}
}

// TestQuietRead: datagrams are read one by one too, and a deadline ends the wait.
func TestQuietRead(t *testing.T) {
	x, b := connected(t)
	a := quieted(t, x)
	if _, err := b.Write([]byte("heddle")); err != nil {
		t.Fatal(err)
	}
	text := make([]byte, 10)
	if n, err := a.Read(text); err != nil || string(text[:n]) != "heddle" {
		t.Errorf("read %q, %v", text[:n], err)
	}
	if err := a.SetReadDeadline(time.Now().Add(-time.Second)); err != nil {
		t.Fatal(err)
	}
	if n, err := a.Read(text); n != 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("read %d bytes, %v", n, err)
	}
}

// TestQuietClose ends who waits for packets and who waits for room.
func TestQuietClose(t *testing.T) {
	x, y := connected(t)
	a, b := quieted(t, x), quieted(t, y)
	read, sent := make(chan error, 1), make(chan error, 1)
	r, s := reader(t, a), sender(t, a)
	go func() {
		_, err := r.Read()
		read <- err
	}()
	for err := error(nil); !errors.Is(err, ErrNoRoom); {
		_, err = s.SendAll(numbered(0, batch))
	}
	go func() {
		_, err := s.WaitAll(numbered(0, batch))
		sent <- err
	}()
	select {
	case err := <-read:
		t.Fatalf("reader ended: %v", err)
	case err := <-sent:
		t.Fatalf("sender ended: %v", err)
	case <-time.After(50 * time.Millisecond):
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
	if err := <-read; !errors.Is(err, net.ErrClosed) {
		t.Errorf("reader: %v", err)
	}
	if err := <-sent; !errors.Is(err, net.ErrClosed) {
		t.Errorf("sender: %v", err)
	}
	if err := a.Close(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("closed again: %v", err)
	}
	if err := ConnectSocket(a, y.LocalAddr()); !errors.Is(err, net.ErrClosed) {
		t.Errorf("connect: %v", err)
	}
	if err := a.SetReadDeadline(time.Now()); !errors.Is(err, net.ErrClosed) {
		t.Errorf("deadline: %v", err)
	}
	b.Close() //nolint:errcheck // not looked at here
}

// TestQuietOfClosed fails, and leaves no descriptor open.
func TestQuietOfClosed(t *testing.T) {
	before := descriptors(t)
	a, b := connected(t)
	q := quieted(t, a)
	b.Close() //nolint:errcheck // what counts is that it is closed
	q.Close() //nolint:errcheck // likewise
	if q, err := Quiet(b); !errors.Is(err, net.ErrClosed) || q != nil {
		t.Errorf("%v, %v", q, err)
	}
	if after := descriptors(t); after != before {
		t.Errorf("%d descriptors, %d before", after, before)
	}
}

func descriptors(t *testing.T) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}

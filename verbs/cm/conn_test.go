//go:build linux

package cm

import (
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/nettest"

	"heddle/verbs"
	"heddle/verbs/shm"
)

const patience = 20 * time.Second

// wire stands for the connection manager between two connections.
type wire struct {
	mine, theirs chan struct{} // closed when that side has disconnected
	once         sync.Once
	closed       chan struct{}
}

func (w *wire) ended(ctx context.Context) error {
	select {
	case <-w.theirs:
		return io.EOF
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (w *wire) disconnect() error {
	w.once.Do(func() { close(w.mine) })
	return nil
}

func (w *wire) close() error {
	close(w.closed)
	return nil
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// openSHM opens the device of shared memory.
func openSHM(t testing.TB) verbs.Context {
	t.Helper()
	devices, err := shm.Provider{}.Devices()
	must(t, err)
	dev, err := devices[0].Open()
	must(t, err)
	t.Cleanup(func() { must(t, dev.Close()) })
	return dev
}

// pair is two connections that are connected with each other, over shared memory.
func pair(a, b verbs.Context, quiet time.Duration) (near, far *Conn, err error) {
	one, two := make(chan struct{}), make(chan struct{})
	wires := [2]*wire{{mine: one, theirs: two, closed: make(chan struct{})}, {mine: two, theirs: one, closed: make(chan struct{})}}
	if near, err = newConn(a, verbs.Path{}, wires[0]); err != nil {
		return nil, nil, err
	}
	if far, err = newConn(b, verbs.Path{}, wires[1]); err != nil {
		return nil, nil, err
	}
	failed := make(chan error, 1)
	go func() { failed <- far.qp.Connect(context.Background(), near.qp.Endpoint()) }()
	if err := errors.Join(near.qp.Connect(context.Background(), far.qp.Endpoint()), <-failed); err != nil {
		return nil, nil, err
	}
	near.local, far.local = Addr(netip.MustParseAddrPort("10.0.0.1:1")), Addr(netip.MustParseAddrPort("10.0.0.2:2"))
	near.remote, far.remote = far.local, near.local
	for _, c := range []*Conn{near, far} {
		c.quiet = quiet
		c.start()
	}
	return near, far, nil
}

func testPair(t *testing.T, quiet time.Duration) (near, far *Conn) {
	t.Helper()
	near, far, err := pair(openSHM(t), openSHM(t), quiet)
	must(t, err)
	t.Cleanup(func() { must(t, errors.Join(near.Close(), far.Close())) })
	return near, far
}

// TestConn holds connections against what net.Conn promises.
func TestConn(t *testing.T) {
	a, b := openSHM(t), openSHM(t)
	nettest.TestConn(t, func() (c1, c2 net.Conn, stop func(), err error) {
		near, far, err := pair(a, b, time.Second)
		return near, far, func() { _ = near.Close(); _ = far.Close() }, err
	})
}

// TestEnd: what was written before Close is read, and then the end; who writes to
// that peer is told.
func TestEnd(t *testing.T) {
	near, far := testPair(t, keepAlive)
	for range slots {
		_, err := near.Write([]byte("last words, "))
		must(t, err)
	}
	must(t, near.Close())
	got, err := io.ReadAll(far)
	if len(got) != slots*len("last words, ") || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	if n, err := far.Write([]byte("?")); n != 0 || !errors.Is(err, verbs.ErrPeerGone) {
		t.Errorf("to who has gone: %d, %v", n, err)
	}
	if _, err := near.Write([]byte("?")); !errors.Is(err, net.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
	select {
	case <-near.control.(*wire).closed:
	default:
		t.Error("the connection manager still has it")
	}
}

// TestPressure: a peer that does not read holds a writer up, and nothing is lost.
func TestPressure(t *testing.T) {
	near, far := testPair(t, keepAlive)
	must(t, near.SetWriteDeadline(time.Now().Add(100*time.Millisecond)))
	sent := 0
	piece := make([]byte, slotSize)
	for {
		n, err := near.Write(piece)
		if sent += n; err != nil {
			if !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Fatal(err)
			}
			break
		}
		if sent > 4*slots*slotSize {
			t.Fatal("there is room without an end")
		}
	}
	if sent < slots*slotSize {
		t.Errorf("%d bytes held it up", sent)
	}
	must(t, far.SetReadDeadline(time.Now().Add(patience)))
	if _, err := io.ReadFull(far, make([]byte, sent)); err != nil {
		t.Error(err)
	}
}

// TestQuiet: signs of life do not disturb, and when there are none the connection
// ends.
func TestQuiet(t *testing.T) {
	near, far := testPair(t, time.Millisecond)
	b := make([]byte, 8)
	must(t, near.SetReadDeadline(time.Now().Add(50*time.Millisecond)))
	if n, err := near.Read(b); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("%d, %v", n, err)
	}
	must(t, near.SetReadDeadline(time.Now().Add(patience)))
	_, err := far.Write([]byte("here"))
	must(t, err)
	if n, err := near.Read(b); string(b[:n]) != "here" || err != nil {
		t.Errorf("%q, %v", b[:n], err)
	}
	// As a host that dies without a word.
	must(t, far.qp.Modify(verbs.Err))
	if n, err := near.Read(b); !errors.Is(err, verbs.ErrPeerGone) {
		t.Errorf("%d, %v, want %v", n, err, verbs.ErrPeerGone)
	}
}

// TestNoManager: where the kernel has none, it is said, and so is a file that is
// another's.
func TestNoManager(t *testing.T) {
	if _, err := openFileAt(t.TempDir() + "/rdma_cm"); !errors.Is(err, verbs.ErrNoDevice) || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	name := t.TempDir() + "/file"
	must(t, os.WriteFile(name, nil, 0o600))
	if _, err := openFileAt(name); !errors.Is(err, verbs.ErrNoDevice) {
		t.Errorf("a file that is none: %v", err)
	}
	f, err := openFileAt("/dev/null")
	if err == nil {
		_, err = f.create()
		err = errors.Join(err, f.close())
	}
	if err == nil {
		t.Error("/dev/null is a connection manager")
	}
}

// TestNames: what is no address is told before the kernel is asked.
func TestNames(t *testing.T) {
	m := NewManager(shm.Provider{})
	defer func() { must(t, m.Close()) }()
	if _, err := m.DialContext(t.Context(), "tcp", "127.0.0.1:1"); err == nil {
		t.Error("tcp is dialed")
	}
	for _, address := range []string{"", "127.0.0.1", "127.0.0.1:none-such", "[fe80::1%none-such]:1"} {
		if _, err := m.Dial(t.Context(), address); err == nil {
			t.Errorf("%q is dialed", address)
		} else {
			t.Log(err)
		}
	}
	if _, err := m.Device("none"); !errors.Is(err, verbs.ErrNoDevice) {
		t.Errorf("%v", err)
	}
}

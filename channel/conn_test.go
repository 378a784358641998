package channel

import (
	"net"
	"testing"

	"golang.org/x/net/nettest"
)

// localListener listens on a Unix socket of its own.
func localListener(t testing.TB) net.Listener {
	t.Helper()
	l, err := nettest.NewLocalListener("unix")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// TestConn holds connections against what net.Conn promises.
func TestConn(t *testing.T) { testConn(t, liveTransport(t), liveTransport(t)) }

// TestPlainConn does so with nothing asserted of the device, where another kind of
// channel is the best one.
func TestPlainConn(t *testing.T) {
	testConn(t, transportOn(t, liveDevice(t)), transportOn(t, liveDevice(t)))
}

func testConn(t *testing.T, a, b *Transport) {
	kind, err := StreamKind(&a.caps)
	must(t, err)
	t.Logf("streams go over %s", kind.Name)
	l := a.ListenConn(localListener(t), LinkConfig{}, func(err error) { t.Errorf("refused: %v", err) })
	defer l.Close()
	nettest.TestConn(t, func() (c1, c2 net.Conn, stop func(), err error) {
		accepted := make(chan error, 1)
		go func() {
			var err error
			c1, err = l.Accept()
			accepted <- err
		}()
		c2, err = b.DialConn(t.Context(), l.Addr().Network(), l.Addr().String(), LinkConfig{})
		if err == nil {
			err = <-accepted
		}
		return c1, c2, func() { _ = c1.Close(); _ = c2.Close() }, err
	})
}

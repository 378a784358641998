package umad_test

import (
	"errors"
	"testing"
	"time"

	"heddle/ib"
	"heddle/mad"
	"heddle/umad"
	"heddle/umad/umadtest"
)

// TestSilentPeer is sent so much, and not more, until it takes it; others are
// sent what they ask for all the while.
func TestSilentPeer(t *testing.T) {
	inBubble(t, umadtest.Options{}, func(t *testing.T, p ports) {
		p.serve(t, mad.ClassSA, 10, func(*umad.Message) {})
		send := func(i, n int, to ib.LID) error {
			m := long(mad.ClassSA, mad.MethodGetTableResp, n, true)
			m.LID = to
			m.Datagram().SetTID(uint64(i))
			return p.server.Send(m)
		}
		fill := func(n int) (sent int) {
			for ; sent < 1000; sent++ {
				if err := send(sent, n, 100); err != nil {
					if !errors.Is(err, umad.ErrTooMuch) {
						t.Fatal(err)
					}
					return sent
				}
			}
			return sent
		}
		for _, c := range []struct{ size, want int }{{200, 256}, {16 << 20, 3}} {
			if got := fill(c.size); got != c.want {
				t.Errorf("%d messages of %d bytes on the way to a silent peer, want %d", got, c.size, c.want)
			}
			if _, err := p.client.Call(t.Context(), long(mad.ClassSA, mad.MethodGetTable, 200, false), umad.CallOptions{}); err != nil {
				t.Errorf("another peer: %v", err)
			}
			time.Sleep(10 * time.Second)
		}
	})
}

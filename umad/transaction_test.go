package umad

import (
	"errors"
	"math"
	"net"
	"testing"
	"time"

	"heddle/mad"
)

// TestTableWraps gives IDs past the last one, with old ones outstanding.
func TestTableWraps(t *testing.T) {
	table := newTable()
	table.next = math.MaxUint32 - 500
	var outstanding []*transaction
	seen := map[uint32]bool{}
	for i := range 1000 {
		x := new(transaction)
		table.add(x)
		if x.tid == 0 || seen[x.tid] {
			t.Fatalf("ID %#x twice or 0", x.tid)
		}
		seen[x.tid] = true
		outstanding = append(outstanding, x)
		if i%3 == 0 {
			table.remove(x)
			outstanding = outstanding[:len(outstanding)-1]
		}
	}
	for _, x := range outstanding {
		if table.get(x.tid) != x {
			t.Errorf("ID %#x is lost", x.tid)
		}
	}
	if table.get(0) != nil || table.count != len(outstanding) {
		t.Errorf("ID 0 found, or %d outstanding, want %d", table.count, len(outstanding))
	}
}

// echo answers one request at a time, without an allocation of its own.
type echo struct {
	Device
	buf  mad.Datagram
	asks chan Address
	stop chan struct{}
}

func (e *echo) Features() Features   { return Features{} }
func (e *echo) Register(Agent) error { return nil }
func (e *echo) Close() error         { close(e.stop); return nil }

func (e *echo) Send(m *Message, _ time.Duration) error {
	copy(e.buf[:], m.Data)
	e.asks <- m.Address
	return nil
}

func (e *echo) Receive(m *Message) error {
	select {
	case m.Address = <-e.asks:
		copy(m.Data, e.buf[:])
		return m.Reply(mad.StatusOK)
	case <-e.stop:
		return net.ErrClosed
	}
}

// newEcho is a port, and a function that asks and waits for the answer.
func newEcho(tb testing.TB) (ask func()) {
	port := NewPort(&echo{asks: make(chan Address, 1), stop: make(chan struct{})})
	tb.Cleanup(func() { _ = port.Close() })
	var d mad.Datagram
	d.SetHeader(mad.Header{Class: mad.ClassLID, ClassVersion: 1, Method: mad.MethodGet, Attr: mad.AttrNodeInfo})
	req := &Message{Address: ToSMA(1), Data: d[:]}
	answered := make(chan error, 1)
	done := func(_ *Message, err error) { answered <- err }
	return func() {
		if err := port.Start(req, CallOptions{}, done); err != nil {
			tb.Fatal(err)
		}
		if err := <-answered; err != nil {
			tb.Fatal(err)
		}
	}
}

func TestStartAllocatesNothing(t *testing.T) {
	ask := newEcho(t)
	if n := testing.AllocsPerRun(1000, ask); n != 0 {
		t.Errorf("%v allocations for each request", n)
	}
}

func BenchmarkStart(b *testing.B) {
	ask := newEcho(b)
	b.ReportAllocs()
	for b.Loop() {
		ask()
	}
}

// TestTooMuchHeld refuses what would be too much together with what is there.
func TestTooMuchHeld(t *testing.T) {
	port := NewPort(&echo{asks: make(chan Address, 100), stop: make(chan struct{})})
	defer func() { _ = port.Close() }()
	port.mu.Lock()
	port.held = maxHeld
	port.mu.Unlock()
	answer := make([]byte, 1000)
	copy(answer, mad.Header{Class: mad.ClassSA, ClassVersion: 2, Method: mad.MethodGetTableResp}.AppendTo(nil))
	copy(answer[24:], mad.RMPPHeader{Version: 1, Flags: mad.RMPPActive}.AppendTo(nil))
	if err := port.Send(&Message{Address: ToLID(1), Data: answer}); !errors.Is(err, ErrTooMuch) {
		t.Errorf("Send: %v, want ErrTooMuch", err)
	}
}

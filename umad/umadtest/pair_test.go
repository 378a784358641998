package umadtest

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"heddle/mad"
	"heddle/umad"
)

// conn is the Conn of a device and the other end of its link.
func (d *Device) conn() Conn {
	return Conn{
		Device: d, Peer: d.peer,
		ToPeer: umad.ToLID(d.peer.info.LID), ToDevice: umad.ToLID(d.info.LID),
		Agent: umad.Agent{Class: mad.ClassPerf, Version: 1, Methods: []mad.Method{mad.MethodGet}},
		Other: umad.Agent{Class: mad.ClassCC, Version: 1, Methods: []mad.Method{mad.MethodGet}},
	}
}

func TestRun(t *testing.T) {
	for _, o := range []Options{{}, {Delay: time.Millisecond}, {Features: umad.Features{Timers: true}}} {
		Run(t, func(*testing.T) Conn {
			near, _ := Pair(o)
			return near.conn()
		})
	}
}

// received are the IDs of 1,000 datagrams in the order in which they came.
func received(t *testing.T, o Options) (ids []uint32) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		near, far := Pair(o)
		a := near.conn().Agent
		_ = far.Register(a)
		l := listen(far)
		for i := range 1000 {
			if err := near.Send(request(a, umad.ToLID(2), uint32(i)), 0); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		l.close(t)
		close(l.messages)
		for m := range l.messages {
			ids = append(ids, tid(m))
		}
	})
	return ids
}

func TestFaults(t *testing.T) {
	inOrder := func(ids []uint32) bool {
		for i := 1; i < len(ids); i++ {
			if ids[i] < ids[i-1] {
				return false
			}
		}
		return true
	}
	tests := []struct {
		name     string
		options  Options
		min, max int
		inOrder  bool
	}{
		{"none", Options{}, 1000, 1000, true},
		{"delay", Options{Delay: time.Second}, 1000, 1000, true},
		{"loss", Options{Loss: 0.2}, 750, 850, true},
		{"all lost", Options{Loss: 1}, 0, 0, true},
		{"duplicates", Options{Duplicate: 0.2}, 1150, 1250, true},
		{"reordering", Options{Jitter: time.Second}, 1000, 1000, false},
		{"drop", Options{Drop: func(_ *Device, m *umad.Message) bool { return tid(m)%2 == 0 }}, 500, 500, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			test.options.Seed = 7
			ids := received(t, test.options)
			if len(ids) < test.min || len(ids) > test.max || inOrder(ids) != test.inOrder {
				t.Errorf("%d datagrams, in order: %v; want %d to %d, %v", len(ids), inOrder(ids), test.min, test.max, test.inOrder)
			}
			again := received(t, test.options)
			if diff := cmp.Diff(ids, again); diff != "" {
				t.Errorf("with the same seed (-first +second):\n%s", diff)
			}
			test.options.Seed = 8
			if other := received(t, test.options); test.options.Loss == 0.2 && cmp.Equal(ids, other) {
				t.Error("another seed makes no difference")
			}
		})
	}
}

// TestTimersEnd asks, is answered, and gets nothing more.
func TestTimersEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := Pair(Options{Features: umad.Features{Timers: true}})
		a := near.conn().Agent
		_, _ = near.Register(a), far.Register(a)
		l := listen(near)
		defer l.close(t)
		if err := near.Send(request(a, umad.ToLID(2), 5), time.Second); err != nil {
			t.Fatal(err)
		}
		var m umad.Message
		if err := far.Receive(&m); err != nil {
			t.Fatal(err)
		}
		_ = m.Reply(mad.StatusOK)
		if err := far.Send(&m, 0); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if len(l.messages) != 1 {
			t.Errorf("%d messages, want the answer only", len(l.messages))
		}
	})
}

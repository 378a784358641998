package sm

import (
	"testing"

	"heddle/ib"
	"heddle/mad"
	"heddle/sm/admin"
	"heddle/umad"
)

func from(lid ib.LID) *umad.Message {
	return &umad.Message{Address: umad.ToLID(lid), Data: make([]byte, mad.Size)}
}

// TestTurns: one client fills no more than its share of the queue, another has
// its turn next, and nobody has more than half of the workers.
func TestTurns(t *testing.T) {
	a := newAsked(4)
	for n := range askedByEach {
		if !a.put(from(1)) {
			t.Fatalf("request %d is refused", n)
		}
	}
	if a.put(from(1)) {
		t.Error("one client fills the queue")
	}
	for _, lid := range []ib.LID{2, 2, 3} {
		if !a.put(from(lid)) {
			t.Errorf("no room for client %d", lid)
		}
	}
	for i, want := range []ib.LID{1, 2, 3, 1, 2} {
		if got := a.take().LID; got != want {
			t.Errorf("request %d is of client %d, want %d", i, got, want)
		}
	}
	if !a.put(from(4)) {
		t.Error("no room for client 4")
	}
	if got := a.take().LID; got != 4 { // 1 has two workers
		t.Errorf("client %d has a third worker", got)
	}
	a.done(1)
	if got := a.take().LID; got != 1 {
		t.Errorf("client %d, want 1 again", got)
	}
	for _, lid := range []ib.LID{2, 2, 3, 4} {
		a.done(lid)
	}
	if n := len(a.clients); n != 1 {
		t.Errorf("%d clients are remembered, want 1", n)
	}
	a.end()
	if a.take() != nil {
		t.Error("a request after the end")
	}
}

// TestQueueIsBounded: however many clients there are.
func TestQueueIsBounded(t *testing.T) {
	a := newAsked(2)
	for lid := range ib.LID(askedLimit) {
		if !a.put(from(lid + 1)) {
			t.Fatalf("client %d is refused", lid+1)
		}
	}
	if a.put(from(askedLimit + 1)) {
		t.Error("one more")
	}
}

// TestReportsAreBounded: who answers nothing gets some at once, loses those
// beyond the limit, which is said once, and takes nothing from others.
func TestReportsAreBounded(t *testing.T) {
	var s reports
	sent, said := 0, 0
	for n := range reportsOut + reportsEach + 100 {
		switch r, ok := s.add(&admin.Report{Subscriber: 1, LID: ib.LID(n%1000 + 1)}); {
		case ok:
			sent++
		case r != nil:
			said++
		}
	}
	if sent != reportsOut || said != 1 || s.waiting != reportsEach || s.dropped != 100 {
		t.Errorf("%d sent, %d said, %d wait, %d dropped", sent, said, s.waiting, s.dropped)
	}
	if _, ok := s.add(&admin.Report{Subscriber: 2}); !ok {
		t.Error("another subscriber waits")
	}
	if s.next(2) != nil {
		t.Error("there is no other report for it")
	}
	for range reportsEach {
		if s.next(1) == nil {
			t.Fatal("a report is lost")
		}
	}
	for range reportsOut {
		if s.next(1) != nil {
			t.Fatal("a report too many")
		}
	}
	if len(s.to) != 0 || s.waiting != 0 {
		t.Errorf("%d subscribers, %d reports are left", len(s.to), s.waiting)
	}
}

package sm

import (
	"testing"
	"testing/synctest"

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
		if got := a.take(nil)[0].LID; got != want {
			t.Errorf("request %d is of client %d, want %d", i, got, want)
		}
	}
	if !a.put(from(4)) {
		t.Error("no room for client 4")
	}
	if got := a.take(nil)[0].LID; got != 4 { // 1 has two workers
		t.Errorf("client %d has a third worker", got)
	}
	a.done([]*umad.Message{from(1)})
	if got := a.take(nil)[0].LID; got != 1 {
		t.Errorf("client %d, want 1 again", got)
	}
	for _, lid := range []ib.LID{2, 2, 3, 4} {
		a.done([]*umad.Message{from(lid)})
	}
	if n := len(a.clients); n != 1 {
		t.Errorf("%d clients are remembered, want 1", n)
	}
	a.end()
	if a.take(nil) != nil {
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

// asking is a request of a client; its transaction ID is a number to know it by.
func asking(lid ib.LID, method mad.Method, tid uint64) *umad.Message {
	var d mad.Datagram
	d.SetHeader(mad.Header{Class: mad.ClassSA, ClassVersion: 2, Method: method, TID: tid, Attr: mad.AttrPathRecord})
	return &umad.Message{Address: umad.ToLID(lid), Data: d[:]}
}

func tids(list []*umad.Message) (tids []uint64) {
	for _, m := range list {
		tids = append(tids, m.Datagram().TID())
	}
	return tids
}

// TestAskedAtOnce: a worker takes several short requests at once, a long one
// ends the list, and of one client there are never more than may be.
func TestAskedAtOnce(t *testing.T) {
	a := newAsked(4)
	var tid uint64
	put := func(lid ib.LID, method mad.Method) {
		t.Helper()
		if !a.put(asking(lid, method, tid)) {
			t.Fatal("refused")
		}
		tid++
	}
	taken := map[uint64]int{}
	take := func(want int) []*umad.Message {
		t.Helper()
		list := a.take(nil)
		if len(list) != want {
			t.Errorf("took %v, want %d of them", tids(list), want)
		}
		for _, id := range tids(list) {
			taken[id]++
		}
		return list
	}
	for lid := range ib.LID(20) {
		put(1+lid, mad.MethodGet)
	}
	a.done(take(askedAtOnce))
	a.done(take(4))
	put(1, mad.MethodGet)
	put(2, mad.MethodGetTable)
	put(3, mad.MethodGet)
	short := take(2) // those of 1 and 3: the long one waits for its own worker
	a.done(take(1))
	a.done(short)
	for range 5 {
		put(7, mad.MethodGet)
	}
	first := take(2)
	a.done(first[:1])
	a.done(take(1))
	a.done(first[1:])
	a.done(take(2))
	if len(taken) != int(tid) || a.waiting != 0 || len(a.clients) != 0 {
		t.Errorf("%d of %d taken, %d wait, of %d clients", len(taken), tid, a.waiting, len(a.clients))
	}
	for id, n := range taken {
		if n != 1 {
			t.Errorf("request %d was taken %d times", id, n)
		}
	}
}

// TestAskedByMany: what many put while many take is taken once.
func TestAskedByMany(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAsked(4)
		counts := make(chan int, 4)
		for range 4 {
			go func() {
				n := 0
				for list := a.take(nil); len(list) > 0; list = a.take(list[:0]) {
					n += len(list)
					a.done(list)
				}
				counts <- n
			}()
		}
		const each = 300
		methods := []mad.Method{mad.MethodGet, mad.MethodGet, mad.MethodGetTable, mad.MethodSet}
		for lid := range ib.LID(4) {
			go func() {
				for i := range each {
					if !a.put(asking(1+lid, methods[i%len(methods)], uint64(i))) {
						t.Error("refused")
					}
				}
			}()
		}
		synctest.Wait()
		a.end()
		sum := 0
		for range 4 {
			sum += <-counts
		}
		if sum != 4*each {
			t.Errorf("%d of %d taken", sum, 4*each)
		}
	})
}

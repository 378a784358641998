package group

import (
	"testing"
	"time"

	"heddle/ib"
)

func TestWindow(t *testing.T) {
	const ms = time.Millisecond
	at := func(d time.Duration) time.Time { return start.Add(d) }
	for _, c := range []struct {
		window      Window
		first, last time.Duration
		final       bool
		want        time.Duration
	}{
		{Window{}, 0, 5 * ms, false, 0},
		{Window{Quiet: 10 * ms}, 0, 5 * ms, false, 0},
		{Window{Quiet: 10 * ms, Bound: 50 * ms}, 0, 0, false, 10 * ms},
		{Window{Quiet: 10 * ms, Bound: 50 * ms}, 0, 30 * ms, false, 40 * ms},
		{Window{Quiet: 10 * ms, Bound: 50 * ms}, 0, 30 * ms, true, 40 * ms},
		{Window{Quiet: 10 * ms, Bound: 50 * ms}, 0, 45 * ms, false, 50 * ms},
		{Window{Quiet: 10 * ms, Bound: 50 * ms}, 20 * ms, 65 * ms, false, 70 * ms},
		{Window{Quiet: 10 * ms, Bound: 500 * ms, Least: 3 * ms}, 0, 0, false, 3 * ms},
		{Window{Quiet: 10 * ms, Bound: 500 * ms, Least: 3 * ms}, 0, 24 * ms, false, 27 * ms},
		{Window{Quiet: 10 * ms, Bound: 500 * ms, Least: 3 * ms}, 0, 40 * ms, false, 45 * ms},
		{Window{Quiet: 10 * ms, Bound: 500 * ms, Least: 3 * ms}, 0, 400 * ms, false, 405 * ms},
		{Window{Quiet: 10 * ms, Bound: 500 * ms, Least: 3 * ms}, 0, 400 * ms, true, 403 * ms},
		{Window{Quiet: 10 * ms, Bound: 500 * ms, Least: 30 * ms}, 0, 400 * ms, true, 410 * ms},
	} {
		due, ok := c.window.Due(Waiting{MLIDs: 1, First: at(c.first), Last: at(c.last), Final: c.final})
		if !ok || !due.Equal(at(c.want)) {
			t.Errorf("%+v, first %v, last %v: due %v, %v; want %v", c.window, c.first, c.last, due.Sub(start), ok, c.want)
		}
	}
	open := Waiting{MLIDs: 1, First: start, Last: start, Open: true}
	if due, _ := (Window{Quiet: 10 * ms, Bound: 50 * ms, Least: ms}).Due(open); !due.Equal(at(10 * ms)) {
		t.Errorf("while others wait for members: due after %v", due.Sub(start))
	}
	for w, want := range map[Window]time.Duration{
		{}: 0, {Quiet: 3 * ms, Bound: 9 * ms}: 3 * ms, {Quiet: 3 * ms, Bound: 9 * ms, Least: ms}: ms, {Quiet: 3 * ms, Bound: 2 * ms}: 2 * ms,
	} {
		if got := w.Soonest(); got != want {
			t.Errorf("%+v: soonest %v, want %v", w, got, want)
		}
	}
	if due, ok := (Window{Quiet: ms}).Due(Waiting{}); ok {
		t.Errorf("nothing is due at %v", due)
	}
}

func TestWaiting(t *testing.T) {
	table := newTable(t, Config{})
	at := func(n int) time.Time { return start.Add(time.Duration(n) * time.Second) }
	check := func(when string, kind Kinds, want Waiting) {
		t.Helper()
		if got := table.Waiting(kind); got.MLIDs != want.MLIDs || !got.First.Equal(want.First) || !got.Last.Equal(want.Last) || got.Final != want.Final || got.Open != want.Open {
			t.Errorf("%s: got %+v, want %+v", when, got, want)
		}
	}
	join := func(n int, r *Request) {
		t.Helper()
		if _, err := table.Join(at(n), r); err != nil {
			t.Fatal(err)
		}
	}
	check("at first", Changes, Waiting{})
	join(1, plainJoin(1, 1))
	join(2, plainJoin(1, 2))
	join(3, plainJoin(2, 1))
	check("two groups", Changes, Waiting{MLIDs: 2, First: at(1), Last: at(3)})
	if _, err := table.Leave(at(4), plainJoin(2, 1)); err != nil {
		t.Fatal(err)
	}
	check("one left", Changes, Waiting{MLIDs: 1, First: at(1), Last: at(4)})
	check("nothing was handed out", Vanishings, Waiting{})
	collected := plainJoin(3, 1)
	collected.MemberCount = 1
	join(5, collected)
	check("complete", Completions, Waiting{MLIDs: 1, First: at(5), Last: at(5), Final: true})
	collecting := plainJoin(4, 1)
	collecting.MemberCount = 2
	join(5, collecting)
	check("another one collects", Completions, Waiting{MLIDs: 1, First: at(5), Last: at(5), Open: true})
	join(6, plainJoin(1, 3))
	check("a plain group got a member", Completions, Waiting{MLIDs: 1, First: at(5), Last: at(5), Open: true})
	more := plainJoin(5, 1)
	more.MemberCount = 3
	join(7, more)
	check("and another one", Completions, Waiting{MLIDs: 1, First: at(5), Last: at(7), Open: true})
	join(8, more)
	check("the same join again", Completions, Waiting{MLIDs: 1, First: at(5), Last: at(7), Open: true})
	for _, r := range []*Request{collecting, more} {
		if _, err := table.Leave(at(8), r); err != nil {
			t.Fatal(err)
		}
	}
	check("they are gone", Completions, Waiting{MLIDs: 1, First: at(5), Last: at(5), Final: true})
	b := table.Take(at(8), Everything)
	if len(b.Changed) != 2 || len(b.Complete) != 1 {
		t.Errorf("batch %+v", b)
	}
	check("taken", Changes, Waiting{})
	check("taken", Completions, Waiting{})
	table.PortGone(at(9), testPort(1).GID)
	table.PortGone(at(10), testPort(2).GID)
	table.PortGone(at(10), testPort(3).GID)
	check("gone", Vanishings, Waiting{MLIDs: 2, First: at(9), Last: at(10)})
	table.Failed(at(11), b.ID)
	check("failed, but gone", Changes, Waiting{})
	if b := table.Take(at(11), Changes|Completions); b.ID != 0 {
		t.Errorf("batch %+v", b)
	}
	table.Reroute(at(11), ib.FirstMLID, ib.LastMLID, 0)
	check("rerouted, but gone", Changes, Waiting{})
}

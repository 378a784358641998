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
		want        time.Duration
	}{
		{Window{}, 0, 5 * ms, 0},
		{Window{Quiet: 10 * ms}, 0, 5 * ms, 0},
		{Window{Quiet: 10 * ms, Bound: 50 * ms}, 0, 0, 10 * ms},
		{Window{Quiet: 10 * ms, Bound: 50 * ms}, 0, 30 * ms, 40 * ms},
		{Window{Quiet: 10 * ms, Bound: 50 * ms}, 0, 45 * ms, 50 * ms},
		{Window{Quiet: 10 * ms, Bound: 50 * ms}, 20 * ms, 65 * ms, 70 * ms},
	} {
		due, ok := c.window.Due(Waiting{MLIDs: 1, First: at(c.first), Last: at(c.last)})
		if !ok || !due.Equal(at(c.want)) {
			t.Errorf("%+v, first %v, last %v: due %v, %v; want %v", c.window, c.first, c.last, due.Sub(start), ok, c.want)
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
		if got := table.Waiting(kind); got.MLIDs != want.MLIDs || !got.First.Equal(want.First) || !got.Last.Equal(want.Last) {
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
	check("two groups", Changes, Waiting{2, at(1), at(3)})
	if _, err := table.Leave(at(4), plainJoin(2, 1)); err != nil {
		t.Fatal(err)
	}
	check("one left", Changes, Waiting{1, at(1), at(4)})
	check("nothing was handed out", Vanishings, Waiting{})
	collected := plainJoin(3, 1)
	collected.MemberCount = 1
	join(5, collected)
	check("complete", Completions, Waiting{1, at(5), at(5)})
	b := table.Take(at(6), Everything)
	if len(b.Changed) != 2 || len(b.Complete) != 1 {
		t.Errorf("batch %+v", b)
	}
	check("taken", Changes, Waiting{})
	check("taken", Completions, Waiting{})
	table.PortGone(at(7), testPort(1).GID)
	table.PortGone(at(8), testPort(2).GID)
	check("gone", Vanishings, Waiting{2, at(7), at(8)})
	table.Failed(at(9), b.ID)
	check("failed, but gone", Changes, Waiting{})
	if b := table.Take(at(9), Changes|Completions); b.ID != 0 {
		t.Errorf("batch %+v", b)
	}
	table.Reroute(at(9), ib.FirstMLID, ib.LastMLID, 0)
	check("rerouted, but gone", Changes, Waiting{})
}

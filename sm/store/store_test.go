package store

import (
	"errors"
	"fmt"
	"hash/crc32"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"heddle/ib"
	"heddle/sm/group"
)

// opener opens a store that has what was in it when it was closed.
type opener func(t *testing.T, o Options) *Store

// kinds are the ways to keep a state. That in memory can not be opened again.
var kinds = []struct {
	name  string
	lasts bool
	make  func(t *testing.T) opener
}{
	{"memory", false, func(*testing.T) opener {
		return func(_ *testing.T, o Options) *Store { return InMemory(o) }
	}},
	{"file", true, func(t *testing.T) opener {
		path := filepath.Join(t.TempDir(), "state.db")
		return func(t *testing.T, o Options) *Store { return mustOpen(t, path, o) }
	}},
}

func mustOpen(t testing.TB, path string, o Options) *Store {
	t.Helper()
	s, err := Open(path, o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func mustClose(t testing.TB, s *Store) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// eachKind runs a test with an open store of each kind.
func eachKind(t *testing.T, test func(t *testing.T, s *Store)) {
	for _, kind := range kinds {
		t.Run(kind.name, func(t *testing.T) {
			s := kind.make(t)(t, Options{})
			t.Cleanup(func() { mustClose(t, s) })
			test(t, s)
		})
	}
}

// commit keeps a batch, for good.
func commit(t testing.TB, s *Store, b *Batch) Result {
	t.Helper()
	kept := make(chan Result, 1)
	if err := s.Commit(t.Context(), b, func(r Result) { kept <- r }); err != nil {
		t.Fatal(err)
	}
	r := <-kept
	if r.Err != nil {
		t.Fatal(r.Err)
	}
	return r
}

// groups is a table whose calls become batches.
type groups struct {
	*group.Table
	now   time.Time
	batch *Batch
}

func newGroups(t testing.TB, s *Store) *groups {
	t.Helper()
	g := &groups{now: time.Unix(1000, 0), batch: &Batch{}}
	if err := g.open(s); err != nil {
		t.Fatal(err)
	}
	return g
}

// open makes the table what the store has, and resumes.
func (g *groups) open(s *Store) (err error) {
	g.Table, err = s.Groups(group.Config{Journal: func(e group.Entry) { g.batch.Entries = append(g.batch.Entries, e) }})
	if err != nil {
		return err
	}
	return g.Resume(g.now, g.Epoch()+1)
}

// take gives what happened since the last take.
func (g *groups) take() *Batch {
	b := g.batch
	g.batch = &Batch{}
	return b
}

var pkeys = []ib.PKey{ib.DefaultPKey}

func joinRequest(mgid, port int) *group.Request {
	p := &group.Port{GID: ib.NewGID(ib.DefaultPrefix, ib.GUID(port+1)), PKeys: pkeys, MTU: ib.MTU4096, Rate: ib.Rate100}
	return &group.Request{
		Has: group.CreateComponents, MGID: ib.MGID{0: 0xff, 1: 0x12, 14: byte(mgid >> 8), 15: byte(mgid)}, PortGID: p.GID,
		JoinState: 1, Member: p, Requester: p, Params: group.Params{PKey: ib.DefaultPKey},
	}
}

func (g *groups) join(t testing.TB, mgid, port int) {
	t.Helper()
	if _, err := g.Join(g.now, joinRequest(mgid, port)); err != nil {
		t.Fatal(err)
	}
}

func (g *groups) leave(t testing.TB, mgid, port int) {
	t.Helper()
	if _, err := g.Leave(g.now, joinRequest(mgid, port)); err != nil {
		t.Fatal(err)
	}
}

// digest is the same for tables with the same content.
func digest(t *group.Table) string {
	var lines []string
	for e := range t.Snapshot() {
		if e.Kind != group.EntryCheckpoint {
			lines = append(lines, string(e.AppendTo(nil)))
		}
	}
	slices.Sort(lines)
	sum := crc32.ChecksumIEEE([]byte(strings.Join(lines, "|")))
	return fmt.Sprintf("%d entries, seq %d, epoch %d, %08x", len(lines), t.Seq(), t.Epoch(), sum)
}

func storedDigest(t testing.TB, s *Store) string {
	t.Helper()
	table, err := s.Groups(group.Config{})
	if err != nil {
		t.Fatal(err)
	}
	return digest(table)
}

func TestStateLasts(t *testing.T) {
	for _, kind := range kinds {
		t.Run(kind.name, func(t *testing.T) {
			open := kind.make(t)
			s := open(t, Options{})
			g := newGroups(t, s)
			for mgid := range 20 {
				g.join(t, mgid, mgid%3)
				g.join(t, mgid, 5)
			}
			b := g.take()
			b.PutLIDs(1, LIDRange{4, 7})
			b.PutLIDs(2, LIDRange{8, 8})
			b.Put(Record{"service", []byte("a"), 3, []byte("x")})
			b.Put(Record{"service", []byte("b"), 3, nil})
			commit(t, s, b)
			g.leave(t, 0, 0)
			b = g.take()
			b.Delete(lidBucket, guidKey(2))
			b.Delete("service", []byte("a"))
			b.Delete("service", []byte("never there"))
			at := commit(t, s, b).At
			if kind.lasts {
				mustClose(t, s)
				s = open(t, Options{})
			}
			if want := (Position{2, 0}); at != want || s.Position() != want || s.Last() != want {
				t.Errorf("positions %v, %v, %v, want %v", at, s.Position(), s.Last(), want)
			}
			if got, want := storedDigest(t, s), digest(g.Table); got != want {
				t.Errorf("groups: %s, want %s", got, want)
			}
			lids, err := s.LIDs()
			if diff := cmp.Diff(map[ib.GUID]LIDRange{1: {4, 7}}, lids); diff != "" || err != nil {
				t.Errorf("LIDs, %v:\n%s", err, diff)
			}
			records, err := s.Records("service")
			if diff := cmp.Diff([]Record{{"service", []byte("b"), 3, []byte{}}}, records); diff != "" || err != nil {
				t.Errorf("records, %v:\n%s", err, diff)
			}
			if _, ok, err := s.Record("service", []byte("a")); ok || err != nil {
				t.Errorf("deleted record: %v, %v", ok, err)
			}
			mustClose(t, s)
		})
	}
}

func TestRefusals(t *testing.T) {
	entry := func(seq, epoch uint64) group.Entry {
		return group.Entry{Seq: seq, Epoch: epoch, Kind: group.EntryUnreserved}
	}
	tests := []struct {
		name  string
		batch Batch
		want  error
	}{
		{"gap", Batch{At: Position{3, 5}}, ErrPosition},
		{"twice", Batch{At: Position{1, 5}}, ErrPosition},
		{"old master", Batch{At: Position{2, 4}}, ErrStale},
		{"old master with all of its state", Batch{At: Position{9, 4}, Reset: true}, ErrStale},
		{"entry gap", Batch{Entries: []group.Entry{entry(3, 5)}}, group.ErrGap},
		{"entry twice", Batch{Entries: []group.Entry{entry(2, 5), entry(2, 5)}}, group.ErrGap},
		{"entry of a past epoch", Batch{Entries: []group.Entry{entry(2, 4)}}, group.ErrStale},
		{"checkpoint", Batch{Entries: []group.Entry{{Seq: 2, Epoch: 5, Kind: group.EntryCheckpoint}}}, group.ErrEntry},
		{"snapshot without reset", Batch{Snapshot: []byte{1}}, ErrRecord},
		{"snapshot of nonsense", Batch{Reset: true, Snapshot: []byte{99}}, group.ErrEncoding},
		{"no bucket", Batch{Changes: []Change{{Record: Record{Key: []byte{1}}}}}, ErrRecord},
		{"no key", Batch{Changes: []Change{{Record: Record{Bucket: "a"}}}}, ErrRecord},
		{"long value", Batch{Changes: []Change{{Record: Record{"a", []byte{1}, 0, make([]byte, MaxValueLen+1)}}}}, ErrRecord},
	}
	eachKind(t, func(t *testing.T, s *Store) {
		commit(t, s, &Batch{At: Position{1, 5}, Entries: []group.Entry{entry(1, 5)}})
		for _, test := range tests {
			err := s.Commit(t.Context(), &test.batch, func(Result) { t.Errorf("%s: done is called", test.name) })
			if !errors.Is(err, test.want) {
				t.Errorf("%s: error %v, want %v", test.name, err, test.want)
			}
		}
		if r := commit(t, s, &Batch{Entries: []group.Entry{entry(2, 5)}}); r.At != (Position{2, 5}) {
			t.Errorf("after the refusals: at %v", r.At)
		}
	})
}

func TestPromise(t *testing.T) {
	for _, kind := range kinds {
		t.Run(kind.name, func(t *testing.T) {
			open := kind.make(t)
			s := open(t, Options{})
			kept := make(chan Result, 1)
			if err := s.Promise(t.Context(), 7, func(r Result) { kept <- r }); err != nil || (<-kept).Err != nil {
				t.Fatal(err)
			}
			if kind.lasts {
				mustClose(t, s)
				s = open(t, Options{})
			}
			if err := s.Commit(t.Context(), &Batch{At: Position{1, 6}}, nil); !errors.Is(err, ErrStale) {
				t.Errorf("batch of epoch 6: error %v, want %v", err, ErrStale)
			}
			if err := s.Promise(t.Context(), 6, nil); !errors.Is(err, ErrStale) {
				t.Errorf("promise to 6: error %v, want %v", err, ErrStale)
			}
			if r := commit(t, s, &Batch{}); r.At != (Position{1, 7}) {
				t.Errorf("batch at %v", r.At)
			}
			mustClose(t, s)
		})
	}
}

// TestFollow takes batches of the epochs before from the leader of now, and none
// from the leader of before.
func TestFollow(t *testing.T) {
	eachKind(t, func(t *testing.T, s *Store) {
		follow := func(epoch uint64, b *Batch) error { return s.Follow(t.Context(), epoch, b, nil) }
		tests := []struct {
			name  string
			epoch uint64
			batch Batch
			want  error
		}{
			{"of before", 7, Batch{At: Position{1, 4}}, nil},
			{"leader of before", 6, Batch{At: Position{2, 4}}, ErrStale},
			{"state of the leader of before", 6, Batch{At: Position{2, 4}, Reset: true}, ErrStale},
			{"of an epoch to come", 7, Batch{At: Position{2, 8}}, ErrPosition},
			{"back in time", 7, Batch{At: Position{2, 3}}, ErrPosition},
			{"without a place", 7, Batch{}, ErrPosition},
			{"next", 7, Batch{At: Position{2, 7}}, nil},
			{"nothing", 7, Batch{Reset: true}, nil},
			{"state of before", 7, Batch{At: Position{1, 3}, Reset: true}, nil},
		}
		for _, test := range tests {
			if err := follow(test.epoch, &test.batch); !errors.Is(err, test.want) {
				t.Errorf("%s: error %v, want %v", test.name, err, test.want)
			}
		}
		if s.Promised() != 7 || s.Last() != (Position{1, 3}) {
			t.Errorf("promised to %d, last %v", s.Promised(), s.Last())
		}
		if err := s.Commit(t.Context(), &Batch{At: Position{2, 6}}, nil); !errors.Is(err, ErrStale) {
			t.Errorf("own batch of before: %v", err)
		}
	})
}

func TestCopyMakesTheSame(t *testing.T) {
	eachKind(t, func(t *testing.T, s *Store) {
		g := newGroups(t, s)
		for mgid := range 5 {
			g.join(t, mgid, 1)
		}
		b := g.take()
		b.Put(Record{"r", []byte("k"), 1, []byte("v")})
		commit(t, s, b)
		eachKind(t, func(t *testing.T, other *Store) {
			theirs := newGroups(t, other)
			theirs.join(t, 77, 7)
			b := theirs.take()
			b.Put(Record{"gone", []byte("k"), 1, []byte("v")})
			commit(t, other, b)
			c, err := s.Copy()
			if err != nil {
				t.Fatal(err)
			}
			encoded := c.AppendTo(nil)
			if c, err = ParseBatch(encoded); err != nil {
				t.Fatal(err)
			}
			commit(t, other, c)
			c2, err := other.Copy()
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(encoded, c2.AppendTo(nil)); diff != "" {
				t.Errorf("copy of the copy:\n%s", diff)
			}
		})
	})
}

// TestCompaction keeps a table through many snapshots of its journal.
func TestCompaction(t *testing.T) {
	for _, kind := range kinds {
		t.Run(kind.name, func(t *testing.T) {
			open := kind.make(t)
			s := open(t, Options{Journal: 1000})
			g := newGroups(t, s)
			for round := range 60 {
				for mgid := range 4 {
					g.join(t, mgid, round%7)
				}
				g.leave(t, round%4, round%7)
				commit(t, s, g.take())
			}
			if err := s.Sync(t.Context()); err != nil {
				t.Fatal(err)
			}
			var b Batch
			if err := s.back.view(func(v view) error { return readGroups(v, &b) }); err != nil {
				t.Fatal(err)
			}
			if len(b.Snapshot) == 0 || len(b.Entries) > 200 {
				t.Errorf("snapshot of %d bytes, journal of %d entries", len(b.Snapshot), len(b.Entries))
			}
			if kind.lasts {
				mustClose(t, s)
				s = open(t, Options{})
			}
			if got, want := storedDigest(t, s), digest(g.Table); got != want {
				t.Errorf("groups: %s, want %s", got, want)
			}
			mustClose(t, s)
		})
	}
}

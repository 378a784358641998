package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// sample makes a file of several pages, and tells the states that it may have:
// the last one and, where the newest root is not valid, the one before.
func sample(t *testing.T) (file []byte, states map[string]bool) {
	path := filepath.Join(t.TempDir(), "state.db")
	s := mustOpen(t, path, Options{})
	g := newGroups(t, s)
	states = map[string]bool{}
	for round := range 5 {
		for mgid := range 30 {
			g.join(t, mgid+round*10, round)
		}
		b := g.take()
		for i := range 40 {
			b.Put(Record{"r", fmt.Appendf(nil, "key %d", i), 1, fmt.Appendf(nil, "value %d of round %d", i, round)})
		}
		commit(t, s, b)
		if round >= 3 {
			states[content(t, s)] = true
		}
	}
	mustClose(t, s)
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return file, states
}

// content is all that a store has, as text.
func content(t *testing.T, s *Store) string {
	t.Helper()
	b, err := s.Copy()
	if err != nil {
		t.Fatal(err)
	}
	return string(b.AppendTo(nil))
}

// tryDamaged opens a file, which must be refused or have one of the states, and
// tells whether it was refused.
func tryDamaged(t *testing.T, name string, file []byte, states map[string]bool) bool {
	t.Helper()
	path := filepath.Join(t.TempDir(), "state.db")
	if err := os.WriteFile(path, file, 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := Open(path, Options{})
	if err == nil {
		if !states[content(t, s)] {
			t.Errorf("%s: opened with another state", name)
		}
		mustClose(t, s)
		return false
	}
	d := (*DamagedError)(nil)
	if !errors.As(err, &d) {
		t.Errorf("%s: error %v", name, err)
		return true
	}
	aside, err := os.ReadFile(d.Aside)
	if err != nil || string(aside) != string(file) {
		t.Errorf("%s: set aside with %d of %d bytes, %v", name, len(aside), len(file), err)
	}
	return true
}

func TestDamageIsFound(t *testing.T) {
	file, states := sample(t)
	refused, tried := 0, 0
	for at := range file {
		if inPage := at % os.Getpagesize(); inPage > 64 && at%97 != 0 || at > 1<<16 && at%4999 != 0 {
			continue
		}
		damaged := append([]byte(nil), file...)
		damaged[at] ^= 1 << (at % 8)
		tried++
		if tryDamaged(t, fmt.Sprintf("byte %d", at), damaged, states) {
			refused++
		}
	}
	t.Logf("%d of %d damaged files were refused; in the others it was a free page, or padding", refused, tried)
	if refused < tried/10 {
		t.Errorf("only %d of %d damaged files were refused", refused, tried)
	}
}

func TestShortenedFile(t *testing.T) {
	file, states := sample(t)
	page := os.Getpagesize()
	for _, length := range []int{0, 1, 100, page, 2*page - 1, 2 * page, 3 * page, 5*page + 7, 8 * page} {
		if !tryDamaged(t, fmt.Sprintf("%d bytes", length), file[:length], states) {
			t.Errorf("a file of %d bytes was opened", length)
		}
	}
}

func TestZeroedPage(t *testing.T) {
	file, states := sample(t)
	page := os.Getpagesize()
	refused := 0
	for at := 0; at+page <= min(len(file), 40*page); at += page {
		damaged := append([]byte(nil), file...)
		clear(damaged[at : at+page])
		if tryDamaged(t, fmt.Sprintf("page %d", at/page), damaged, states) {
			refused++
		}
	}
	if refused == 0 {
		t.Error("no file was refused")
	}
}

// TestOlderPage puts the content of a page of an older state back, as a disk
// does that lost a write.
func TestOlderPage(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	s := mustOpen(t, path, Options{})
	b := &Batch{}
	b.Put(Record{"r", []byte("k"), 1, []byte("v")})
	commit(t, s, b)
	older := &Batch{}
	older.Put(Record{"r", []byte("k"), 1, []byte("w")})
	// The sums stay as they are, as they would on their own page.
	err := s.back.(*door).back.(*disk).db.Update(rawPut(recordPrefix+"r", []byte("k"), older.Changes[0].op().sealed))
	if err != nil {
		t.Fatal(err)
	}
	mustClose(t, s)
	d := (*DamagedError)(nil)
	if _, err := Open(path, Options{}); !errors.As(err, &d) {
		t.Errorf("error %v", err)
	}
}

func TestSetAsideKeepsAll(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	for n := range 3 {
		if err := os.WriteFile(path, []byte("not a state"), 0o600); err != nil {
			t.Fatal(err)
		}
		d := (*DamagedError)(nil)
		if _, err := Open(path, Options{}); !errors.As(err, &d) || d.Path != path {
			t.Fatalf("error %v", err)
		}
		names, err := SetAside(path)
		if err != nil || len(names) != n+1 || names[n] != d.Aside {
			t.Errorf("set aside: %v, %v; the last is %s", names, err, d.Aside)
		}
	}
	mustClose(t, mustOpen(t, path, Options{}))
}

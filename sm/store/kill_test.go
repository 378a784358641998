package store

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"
)

// writerEnv makes the test binary a process that writes to the file it names
// until it is killed.
const writerEnv = "HEDDLE_STORE_WRITER"

func TestMain(m *testing.M) {
	if path := os.Getenv(writerEnv); path != "" {
		fmt.Fprintln(os.Stderr, writeForever(path))
		os.Exit(2)
	}
	os.Exit(m.Run())
}

const counters = 32

// writeForever commits batches, each of group changes, a counter and the digest
// of the table, and prints the number of each that is kept.
func writeForever(path string) error {
	s, err := Open(path, Options{Journal: 3000})
	if err != nil {
		return err
	}
	w, err := newWriter(s)
	if err != nil {
		return err
	}
	for {
		b := w.next(s.Last().Index + 1)
		err := s.Commit(context.Background(), b, func(r Result) {
			if r.Err == nil {
				fmt.Println(r.At.Index)
			}
		})
		if err != nil {
			return err
		}
	}
}

type writer struct {
	*groups
	random *rand.Rand
}

func newWriter(s *Store) (*writer, error) {
	g := &groups{now: time.Unix(1000, 0), batch: &Batch{}}
	if err := g.open(s); err != nil {
		return nil, err
	}
	return &writer{g, rand.New(rand.NewPCG(s.Last().Index, 1))}, nil
}

// next is a batch that changes some groups.
func (w *writer) next(index uint64) *Batch {
	for range w.random.IntN(4) {
		r := joinRequest(w.random.IntN(6), w.random.IntN(5))
		if w.random.IntN(3) > 0 {
			_, _ = w.Join(w.now, r)
		} else {
			_, _ = w.Leave(w.now, r) // refused where it is no member
		}
	}
	b := w.take()
	b.Put(Record{"counter", []byte{byte(index % counters)}, 1, binary.BigEndian.AppendUint64(nil, index)})
	b.Put(Record{"digest", []byte("table"), 1, []byte(digest(w.Table))})
	return b
}

// TestKilledAtAnyMoment kills a process that writes, again and again, and finds
// all that it said was kept, and of no batch a part.
func TestKilledAtAnyMoment(t *testing.T) {
	rounds := 25
	if testing.Short() {
		rounds = 5
	}
	path := filepath.Join(t.TempDir(), "state.db")
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	for range rounds {
		kept := writeAndKill(t, path, time.Duration(random.IntN(60_000))*time.Microsecond)
		s := mustOpen(t, path, Options{})
		if at := s.Position().Index; at < kept {
			t.Fatalf("%d is kept, but the state is that of %d", kept, at)
		}
		checkWhole(t, s)
		mustClose(t, s)
	}
}

// writeAndKill gives the last number that the process said was kept.
func writeAndKill(t *testing.T, path string, after time.Duration) (kept uint64) {
	t.Helper()
	c := exec.CommandContext(t.Context(), os.Args[0])
	c.Env = append(os.Environ(), writerEnv+"="+path)
	c.Stderr = os.Stderr
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(after, func() { _ = c.Process.Kill() })
	r := bufio.NewReader(out)
	for {
		line, err := r.ReadString('\n')
		if err != nil { // a line that is cut off was not said
			break
		}
		if kept, err = strconv.ParseUint(line[:len(line)-1], 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	_, _ = io.Copy(io.Discard, r)
	if err := c.Wait(); err == nil || c.ProcessState.Exited() {
		t.Fatalf("the writer ended by itself: %v", c.ProcessState)
	}
	return kept
}

// checkWhole holds the parts of the state against each other.
func checkWhole(t *testing.T, s *Store) {
	t.Helper()
	last := s.Position().Index
	records, err := s.Records("counter")
	if err != nil || len(records) != int(min(last, counters)) {
		t.Fatalf("%d counters, %v", len(records), err)
	}
	for _, r := range records {
		got := binary.BigEndian.Uint64(r.Value)
		want := last - (last-uint64(r.Key[0])+counters)%counters
		if got != want {
			t.Errorf("counter %d is %d, want %d of %d", r.Key[0], got, want, last)
		}
	}
	if last == 0 {
		return
	}
	want, _, err := s.Record("digest", []byte("table"))
	if got := storedDigest(t, s); err != nil || got != string(want.Value) {
		t.Errorf("table: %s, want %s, %v", got, want.Value, err)
	}
}

package testenv

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// recorder is a testing.TB that records how a test would have ended.
type recorder struct {
	testing.TB
	end, text string
}

func (r *recorder) Helper() {}

func (r *recorder) Logf(format string, args ...any) { r.text += fmt.Sprintf(format, args...) }

func (r *recorder) Skipf(format string, args ...any) { r.stop("skip", fmt.Sprintf(format, args...)) }

func (r *recorder) Fatalf(format string, args ...any) { r.stop("fail", fmt.Sprintf(format, args...)) }

func (r *recorder) Fatal(args ...any) { r.stop("fail", fmt.Sprint(args...)) }

func (r *recorder) stop(end, text string) {
	r.end, r.text = end, text
	panic(r)
}

// run calls f with a recorder until f returns or the recorder is stopped.
func run(t *testing.T, f func(testing.TB)) *recorder {
	t.Helper()
	r := &recorder{TB: t}
	func() {
		defer func() {
			if p := recover(); p != nil && p != r {
				panic(p)
			}
		}()
		f(r)
	}()
	return r
}

func TestPeerFound(t *testing.T) {
	first, second := t.TempDir(), t.TempDir()
	want := filepath.Join(second, "peer.exe")
	if err := os.WriteFile(want, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", first+string(filepath.ListSeparator)+second)
	if got := Peer(t, "peer.exe"); got != want {
		t.Errorf("Peer = %q, want %q", got, want)
	}
}

func TestPeerMissing(t *testing.T) {
	for _, short := range []bool{false, true} {
		t.Run(fmt.Sprintf("short=%v", short), func(t *testing.T) {
			setShort(t, short)
			r := run(t, func(tb testing.TB) { Peer(tb, "no-such-peer") })
			want, hint := "fail", "make peers"
			if short {
				want, hint = "skip", "go test -short"
			}
			if r.end != want || !strings.Contains(r.text, hint) || !strings.Contains(r.text, "no-such-peer") {
				t.Errorf("ended with %q %q, want %s and %q", r.end, r.text, want, hint)
			}
		})
	}
}

// setShort sets the -short flag for one test.
func setShort(t *testing.T, short bool) {
	t.Helper()
	old := flag.Lookup("test.short").Value.String()
	set := func(v string) {
		if err := flag.Set("test.short", v); err != nil {
			t.Fatal(err)
		}
	}
	set(fmt.Sprint(short))
	t.Cleanup(func() { set(old) })
}

func TestSharedByEnvironment(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("HEDDLE_SHARED", dir)
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if got, ok := Shared(t, "file"); !ok || got != filepath.Join(dir, "file") {
		t.Errorf("Shared = %q, %v", got, ok)
	}
	r := run(t, func(tb testing.TB) {
		if got, ok := Shared(tb, "data", "absent"); ok || got != "" {
			t.Errorf("Shared of an absent file = %q, %v", got, ok)
		}
	})
	if r.end != "" || !strings.Contains(r.text, "absent") {
		t.Errorf("an absent file ended with %q %q, want only a log line that names it", r.end, r.text)
	}
	t.Setenv("HEDDLE_SHARED", filepath.Join(dir, "file"))
	if r := run(t, func(tb testing.TB) { Shared(tb) }); r.end != "fail" {
		t.Errorf("HEDDLE_SHARED that names a file ended with %q", r.end)
	}
}

func TestSharedBesideTheModule(t *testing.T) {
	base := t.TempDir()
	deep := filepath.Join(base, "module", "a", "b")
	for _, dir := range []string{deep, filepath.Join(base, "shared")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(base, "module", "go.mod"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	t.Setenv("HEDDLE_SHARED", "")
	t.Chdir(deep)
	got, ok := Shared(t)
	want, err := filepath.EvalSymlinks(filepath.Join(base, "shared"))
	if err != nil {
		t.Fatal(err)
	}
	if found, err := filepath.EvalSymlinks(got); !ok || err != nil || found != want {
		t.Errorf("Shared = %q, %v, want %q", got, ok, want)
	}
}

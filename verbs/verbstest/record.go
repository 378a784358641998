package verbstest

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
)

// recorder is what a test reports to that may fail: it keeps the faults, and
// passes none on.
type recorder struct {
	testing.TB
	ctx context.Context

	mu       sync.Mutex
	faults   []string // guarded by mu, as cleanups
	cleanups []func()
}

// record runs a test, and returns its faults.
func (s *Suite) record(tb testing.TB, test *test) []string {
	ctx, cancel := context.WithCancel(tb.Context())
	r := &recorder{TB: tb, ctx: ctx}
	done := make(chan struct{})
	go func() { // FailNow ends a goroutine
		defer close(done)
		defer r.cleanup()
		defer cancel()
		s.run(r, test)
	}()
	<-done
	return r.faults
}

func (r *recorder) cleanup() {
	for _, f := range slices.Backward(r.cleanups) {
		f()
	}
}

func (r *recorder) note(text string) {
	_, file, line, _ := runtime.Caller(2)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.faults = append(r.faults, fmt.Sprintf("%s:%d: %s", filepath.Base(file), line, strings.TrimSpace(text)))
}

func (r *recorder) Context() context.Context { return r.ctx }
func (r *recorder) Cleanup(f func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cleanups = append(r.cleanups, f)
}
func (r *recorder) Error(args ...any)                 { r.note(fmt.Sprintln(args...)) }
func (r *recorder) Errorf(format string, args ...any) { r.note(fmt.Sprintf(format, args...)) }
func (r *recorder) Fatal(args ...any)                 { r.note(fmt.Sprintln(args...)); runtime.Goexit() }

func (r *recorder) Fatalf(format string, args ...any) {
	r.note(fmt.Sprintf(format, args...))
	runtime.Goexit()
}
func (r *recorder) Fail()               { r.note("failed") }
func (r *recorder) FailNow()            { r.note("failed"); runtime.Goexit() }
func (r *recorder) Failed() bool        { r.mu.Lock(); defer r.mu.Unlock(); return len(r.faults) > 0 }
func (r *recorder) Log(args ...any)     {}
func (r *recorder) Logf(string, ...any) {}

package route_test

import (
	"sync/atomic"
	"testing"

	"heddle/route"
)

func TestParallel(t *testing.T) {
	var ran atomic.Int32
	route.Parallel(4, func() { ran.Add(1) })
	route.Parallel(0, func() { ran.Add(1) })
	if ran.Load() != 5 {
		t.Errorf("ran %d times, want 4 and 1", ran.Load())
	}
}

// TestParallelPanics: who calls it can recover, and all goroutines have ended.
func TestParallelPanics(t *testing.T) {
	var next atomic.Int32
	defer func() {
		if p := recover(); p != "second" || next.Load() != 3 {
			t.Errorf("panic %v after %d", p, next.Load())
		}
	}()
	route.Parallel(3, func() {
		if next.Add(1) == 2 {
			panic("second")
		}
	})
}

package channel

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestPause counts the turns before a wait sleeps, in virtual time.
func TestPause(t *testing.T) {
	for _, c := range []struct {
		name  string
		brief bool
		turns int
	}{
		{"alone", false, turnsAtOnce + turnsYielded},
		{"crowded", true, turnsBrief},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p, start, turns := pause{brief: c.brief}, time.Now(), -1
				for ; time.Since(start) == 0 && turns < 1000; turns++ {
					if err := p.wait(t.Context(), nil); err != nil {
						t.Fatal(err)
					}
				}
				if nap := time.Since(start); turns != c.turns || nap != shortestNap {
					t.Errorf("asleep for %v after %d turns, want %v after %d", nap, turns, shortestNap, c.turns)
				}
			})
		})
	}
}

package emu_test

import (
	"testing"
	"time"

	"heddle/emu"
	"heddle/internal/testenv"
)

// TestTroubledBringUp: OpenSM, whose preloaded library has no timers, brings up
// subnets that lose, delay and double what it sends, and whose agents are slow
// and refuse what is too much.
func TestTroubledBringUp(t *testing.T) {
	lossy := emu.Trouble{Drop: 0.1, Delay: time.Millisecond, Duplicate: 0.05, Jitter: time.Millisecond}
	lost := []string{" ERR "} // OpenSM tells in many ways of what it did not get, and of what it did twice
	tests := []struct {
		name, spec string
		cfg        emu.Config
		trouble    emu.Trouble
		happened   func(emu.Stats) bool
		errors     []string
	}{
		{"loss", "single:hosts=4", emu.Config{Seed: 1}, lossy, func(s emu.Stats) bool { return s.Lost > 10 }, lost},
		{"delay", "fat-tree:k=4", emu.Config{Hop: 100 * time.Microsecond}, emu.Trouble{}, func(s emu.Stats) bool { return s.Lost == 0 }, nil},
		{
			"slow agents", "fat-tree:k=4",
			emu.Config{Agent: time.Millisecond, Queue: 2},
			emu.Trouble{},
			func(s emu.Stats) bool { return s.QueueFull > 0 }, lost,
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := serve(t, generate(t, test.spec), test.cfg)
			if err := s.Do(func(sub *emu.Subnet) error { return sub.Trouble(test.trouble) }); err != nil {
				t.Fatal(err)
			}
			sm := testenv.StartOpenSM(t, s.name, "", "max_wire_smps 6", "sweep_interval 1")
			sm.WaitSubnetUp(t)
			if stats := s.stats(t); !test.happened(stats) {
				t.Errorf("no trouble: %+v", stats)
			}
			if err := s.Do(func(sub *emu.Subnet) error { return sub.Trouble(emu.Trouble{}) }); err != nil {
				t.Fatal(err)
			}
			s.awaitFound(t, s.fabric)
			checkLog(t, sm.Log(), test.errors...)
		})
	}
}

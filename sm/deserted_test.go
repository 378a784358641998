package sm_test

import (
	"testing"
	"time"

	"heddle/emu"
	"heddle/mad"
)

// TestDesertedPort: the port of a switch to a node that answers no more, though
// its link is up, is taken down once the node counts as gone, and stays in Init;
// when the node answers again its link is taken up.
func TestDesertedPort(t *testing.T) {
	run(t, "fat-tree:k=4", emu.Config{}, func(t *testing.T, r running) {
		host := r.fabric(t).Adapters()[5]
		slow := func(d time.Duration) {
			r.change(t, func(s *emu.Subnet) {
				if err := s.SlowAgent(host, d, 1); err != nil {
					t.Error(err)
				}
			})
		}
		inInit := func() int { return r.status(t).Ports[mad.PortInit] }
		slow(5 * time.Minute)
		for range 6 {
			r.Resweep("the test")
			time.Sleep(20 * time.Second)
		}
		if n := inInit(); n != 2 {
			t.Errorf("%d ports in Init, want both ends of the link to the node that is gone", n)
		}
		slow(0)
		time.Sleep(5 * time.Minute) // what the agent had begun
		for range 3 {
			r.Resweep("the test")
			time.Sleep(20 * time.Second)
		}
		if n := inInit(); n != 0 {
			t.Errorf("%d ports in Init when the node is back, want none", n)
		}
	})
}

package sim_test

import (
	"testing"
	"time"

	"heddle/verbs"
	"heddle/verbs/sim"
	"heddle/verbs/verbstest"
)

// TestConformance runs the suite of package verbs on each profile, on two devices
// and on one that talks to itself, on networks that lose and double packets, and
// in real time.
func TestConformance(t *testing.T) {
	for _, p := range sim.Profiles() {
		for _, test := range []struct {
			name   string
			config sim.Config
			alone  bool
		}{
			{name: "two devices"},
			{name: "one device", alone: true},
			{name: "bad network", config: sim.Config{Faults: sim.Faults{Loss: 0.02, Duplicate: 0.02, Jitter: 2 * time.Microsecond}}},
			{name: "real time", config: sim.Config{Clock: sim.Real}},
		} {
			t.Run(p.Name+"/"+test.name, func(t *testing.T) {
				test.config.Profile, test.config.Seed = p, 1
				verbstest.Run(t, suite(test.config, test.alone))
			})
		}
	}
}

// suite is the suite on a new network for each test.
func suite(c sim.Config, alone bool) verbstest.Suite {
	return verbstest.Suite{
		Moment: 2 * time.Millisecond,
		Lossy:  c.Faults.Loss > 0,
		Open: func(tb testing.TB) (near, far verbs.Context) {
			n := network(tb, c)
			dev := get[*sim.Device](tb)(n.Add("near"))
			near = get[verbs.Context](tb)(dev.Open())
			if !alone {
				dev = get[*sim.Device](tb)(n.Add("far"))
			}
			far = get[verbs.Context](tb)(dev.Open())
			return near, far
		},
	}
}

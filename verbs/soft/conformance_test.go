package soft_test

import (
	"testing"
	"time"

	"heddle/verbs"
	"heddle/verbs/soft"
	"heddle/verbs/verbstest"
)

// TestConformance runs the suite of package verbs in virtual time: on a network
// that loses, doubles and reorders packets, and on one that does not.
func TestConformance(t *testing.T) {
	for _, test := range []struct {
		name   string
		faults soft.Faults
		alone  bool
	}{
		{name: "two devices"},
		{name: "one device", alone: true},
		{name: "loss 1%", faults: soft.Faults{Loss: 0.01}},
		{name: "loss 10%", faults: soft.Faults{Loss: 0.1}},
		{name: "duplicates", faults: soft.Faults{Duplicate: 0.2}},
		{name: "reordering", faults: soft.Faults{Reorder: 0.2}},
		{name: "all", faults: soft.Faults{Loss: 0.05, Duplicate: 0.05, Reorder: 0.05}},
	} {
		t.Run(test.name, func(t *testing.T) {
			verbstest.Run(t, suite(soft.NetworkConfig{Seed: 1, Faults: test.faults}, test.alone))
		})
	}
}

// suite is the suite on a new network for each test. A network that reorders
// loses messages of the unreliable services, and doubles datagrams.
func suite(c soft.NetworkConfig, alone bool) verbstest.Suite {
	return verbstest.Suite{
		Moment: 2 * time.Millisecond, MaxSize: 1 << 20,
		Lossy: c.Faults != soft.Faults{},
		Open: func(tb testing.TB) (near, far verbs.Context) {
			n := soft.NewNetwork(c)
			dev := n.Add("near")
			near = open(tb, dev)
			if !alone {
				dev = n.Add("far")
			}
			return near, open(tb, dev)
		},
	}
}

func open(tb testing.TB, d verbs.Device) verbs.Context {
	tb.Helper()
	ctx, err := d.Open()
	if err != nil {
		tb.Fatal(err)
	}
	return ctx
}

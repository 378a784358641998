package sm_test

import (
	"errors"
	"testing"
	"testing/synctest"

	"heddle/emu"
	"heddle/fabric/topology"
	"heddle/route"
	"heddle/sm"
	"heddle/umad"
)

// TestUnicastByRanks: updown where a fabric has ranks, else minhop and a
// warning; what can deadlock is named.
func TestUnicastByRanks(t *testing.T) {
	ranked, minhop, updown := engine(t, "updown"), engine(t, "minhop"), engine(t, "updown")
	ranked.Ranked = true
	failing := sm.Unicast{Name: "failing", Route: func(*route.Graph, *route.Hops, *route.LIDs, int) (*route.LFTs, error) {
		return nil, errors.New("not today")
	}}
	for _, test := range []struct {
		spec     string
		engines  []sm.Unicast
		engine   string
		warnings []sm.WarningName
	}{
		{"fat-tree:k=4", []sm.Unicast{ranked, minhop}, "updown", nil},
		{"torus:4x4,e=1", []sm.Unicast{ranked, minhop}, "minhop", []sm.WarningName{sm.UnrankedFabric, sm.Deadlock}},
		{"torus:4x4,e=1", []sm.Unicast{updown}, "updown", []sm.WarningName{sm.UnrankedFabric}},
		{"fat-tree:k=4", []sm.Unicast{failing, ranked}, "updown", []sm.WarningName{sm.EngineFailed}},
	} {
		f, err := topology.Generate(test.spec)
		if err != nil {
			t.Fatal(err)
		}
		synctest.Test(t, func(t *testing.T) {
			live, err := emu.Start(f, emu.Config{})
			if err != nil {
				t.Fatal(err)
			}
			dev, err := live.Open("", 0)
			if err != nil {
				t.Fatal(err)
			}
			port, cfg := umad.NewPort(dev), config(t, 5)
			cfg.Unicast = test.engines
			m, err := sm.New(port, cfg)
			if err != nil {
				t.Fatal(err)
			}
			r, err := m.Sweep(t.Context())
			if err != nil || r.Engine != test.engine || len(r.Warnings) != len(test.warnings) {
				t.Fatalf("%s: %+v, %v, want warnings %v", test.spec, r, err, test.warnings)
			}
			for i, w := range r.Warnings {
				if w.Name != test.warnings[i] || w.Text == "" {
					t.Errorf("%s: %+v, want %v", test.spec, w, test.warnings[i])
				}
			}
			if err := errors.Join(port.Close(), live.Close()); err != nil {
				t.Error(err)
			}
		})
	}
}

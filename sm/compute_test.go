package sm_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"heddle/emu"
	"heddle/mad"
	"heddle/route"
	"heddle/sm"
	"heddle/umad"
)

// TestComputingIsAlive: a standby leaves a master alone whose routing takes
// long, but not one whose routing does not end.
func TestComputingIsAlive(t *testing.T) {
	for _, test := range []struct {
		takes time.Duration
		want  []mad.SMState
	}{
		{40 * time.Second, []mad.SMState{mad.SMMaster, mad.SMStandby}},
		{time.Hour, []mad.SMState{mad.SMStandby, mad.SMMaster}},
	} {
		run(t, "fat-tree:k=4", emu.Config{}, func(t *testing.T, r running) {
			hosts := r.fabric(t).Adapters()
			slow := make(chan time.Duration, 1)
			cfg := config(t, 9)
			cfg.RouteLimit = 2 * time.Hour
			inner := cfg.Unicast[0].Route
			cfg.Unicast[0].Route = func(g *route.Graph, h *route.Hops, lids *route.LIDs, workers int) (*route.LFTs, error) {
				select {
				case d := <-slow:
					time.Sleep(d)
				default:
				}
				return inner(g, h, lids, workers)
			}
			dev, err := r.live.Open(r.fabric(t).Node(hosts[8]).ID, 0)
			if err != nil {
				t.Fatal(err)
			}
			v := &rival{port: umad.NewPort(dev), ended: make(chan error, 1)}
			m, err := sm.New(v.port, cfg)
			if err != nil {
				t.Fatal(err)
			}
			var ctx context.Context
			ctx, v.cancel = context.WithCancel(t.Context())
			go func() { v.ended <- m.Run(ctx) }()
			time.Sleep(30 * time.Second)
			slow <- test.takes
			m.Resweep("the test")
			time.Sleep(39 * time.Second)
			if states, _ := r.master(t, hosts[8], hosts[0]); !slices.Equal(states, []mad.SMState{mad.SMMaster, mad.SMStandby}) {
				t.Errorf("while it routes for %v: %v", test.takes, states)
			}
			time.Sleep(5 * time.Minute)
			states, _ := r.master(t, hosts[8], hosts[0])
			if states[1] != test.want[1] || test.takes < time.Hour && states[0] != test.want[0] {
				t.Errorf("after it routed for %v: %v, want %v", test.takes, states, test.want)
			}
			time.Sleep(2 * time.Hour)
			v.end(t)
		})
	}
}

package channel

import (
	"testing"
	"time"

	"heddle/ib"
	"heddle/verbs"
	"heddle/verbs/sim"
)

// least is a network that promises what a kind needs and nothing else. Its
// messages have one packet, as the simulation keeps bytes in order within packets.
func least(k *Kind) sim.Profile {
	p := sim.Profile{
		Name: "least", Ops: [4]verbs.Ops{verbs.RC: k.Needs.Ops | k.Needs.Room}, WriteChunk: 1, FetchChunk: 1,
		Spread: 3 * time.Microsecond, MTU: ib.MTU4096, MaxSGE: 1, SRQ: k.Needs.SRQ,
	}
	for _, o := range k.Needs.Orders {
		switch o {
		case BellLast:
			p.WriteChunk = verbs.AllBytes
		case BellFirst:
			p.FetchChunk = verbs.AllBytes
		case PlacementOrder:
			p.Placement, p.Completion, p.Delivery, p.Spread = true, true, true, 0
		case CompletionOrder:
			p.Completion, p.Delivery = true, true
		}
	}
	return p
}

// TestNeeds: what a kind says that it needs is enough for it.
func TestNeeds(t *testing.T) {
	for _, kind := range Kinds() {
		t.Run(kind.Name, func(t *testing.T) {
			for seed := range 4 * *seeds {
				if fault := newTrial(t, kind, least(kind), seed, false).run(); fault != "" {
					t.Fatalf("seed %d: %s", seed, fault)
				}
			}
		})
	}
}

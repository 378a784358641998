package bench

import (
	"context"
	"encoding/csv"
	"strings"
	"testing"
	"time"

	"heddle/cli/compare"
)

func shortMulticast() *Multicast {
	return &Multicast{Hardware: EDR(), Seed: 1, Messages: 300, Sizes: []int{8, 2048}}
}

// TestHeights: the figures follow from the hardware that is modelled.
func TestHeights(t *testing.T) {
	b := shortMulticast()
	b.Hardware.Noise = 0
	list, err := b.Heights(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	h := b.Hardware
	for i, x := range list {
		size := []int{8, 8, 2048, 2048}[i]
		wire := time.Duration(float64(8+40+12+8+size+4+2) * 8 / h.Rate.Gbps())
		switches := []int{1, 3}[i%2]
		want := h.Post + h.Take + 2*h.bus(size) + wire + time.Duration(switches)*h.Wire.Switch + time.Duration(switches+1)*h.Wire.Cable
		if got := time.Duration(x.Median * 1000); got < want-2 || got > want+2 {
			t.Errorf("%s, %d bytes: %v, want %v", x.Case, x.Size, got, want)
		}
		if x.Size != size || x.Messages < 300 || x.Deadlock {
			t.Errorf("%+v", x)
		}
	}
	if list[0].Paper != 0 || list[1].Paper != 1.2 || list[3].Paper != 1.15 {
		t.Errorf("the paper's ratios: %+v", list)
	}
}

// TestEFIs: from where the links are full on, a message takes as long as the
// messages of all groups do on a link.
func TestEFIs(t *testing.T) {
	b := shortMulticast()
	b.Sizes = []int{2048}
	list, err := b.EFIs(t.Context(), 64)
	if err != nil || len(list) != 7 {
		t.Fatalf("%d cases, %v", len(list), err)
	}
	const ns = (8 + 40 + 12 + 8 + 2048 + 4 + 2) * 8 / 100.0
	for _, x := range list[5:] {
		if want := float64(x.Groups) * ns / 1000; x.Mean < 0.95*want || x.Mean > 1.05*want {
			t.Errorf("%s: %.2f us, want %.2f", x.Case, x.Mean, want)
		}
	}
	if r := list[1].Ratio; r > 1.05 {
		t.Errorf("two groups: %.2f", r)
	}
}

// TestEngineLatencies: engines that load the links unevenly have the worse
// latencies.
func TestEngineLatencies(t *testing.T) {
	runs, err := compare.Runs([]string{"minihop", "weave"}, []int{1})
	if err != nil {
		t.Fatal(err)
	}
	b := shortMulticast()
	list, err := b.Engines(t.Context(), Crowd{Fabric: "fat-tree:k=8", Pattern: "random:64x8"}, runs)
	if err != nil {
		t.Fatal(err)
	}
	if len(list) != 4 || list[2].P99 < 1.5*list[3].P99 || list[2].MaxEFI <= list[3].MaxEFI || list[2].Busiest < list[3].Busiest {
		t.Errorf("%+v", list)
	}
	var out strings.Builder
	if err := WriteLatencies(&out, list); err != nil {
		t.Fatal(err)
	}
	lines, err := csv.NewReader(strings.NewReader(out.String())).ReadAll()
	if err != nil || len(lines) != 5 {
		t.Errorf("%d lines, %v", len(lines), err)
	}
	if c := LatencyChart(list); len(c.Panels) != 1 || len(c.Panels[0].Lines) != 2 {
		t.Errorf("%+v", c)
	}
}

// TestStandstill: a deadlock is told, and has no latency.
func TestStandstill(t *testing.T) {
	grids := LatencyGrids([]Latency{{Experiment: OfEngines, Case: "fulb", Size: 8, Deadlock: true}})
	if len(grids) != 1 || grids[0].Rows[0][2] != "deadlock" {
		t.Errorf("%+v", grids)
	}
}

func TestMulticastRefuses(t *testing.T) {
	b := shortMulticast()
	for _, c := range []Crowd{{"nothing:k=3", "grid:2x2", 0}, {"fat-tree:k=4", "nothing", 0}, {"fat-tree:k=4", "random:3x1", 0}} {
		runs, err := compare.Runs([]string{"fulb"}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if list, err := b.Engines(t.Context(), c, runs); err == nil {
			t.Errorf("%+v: %+v", c, list)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := b.Heights(ctx); err == nil {
		t.Error("goes on after the end of its context")
	}
}

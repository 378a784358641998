package route_test

import (
	"slices"
	"testing"

	"heddle/route"
)

// TestCheckLFTsFindsFaults changes one entry of right tables.
func TestCheckLFTsFindsFaults(t *testing.T) {
	tests := []struct {
		name string
		port uint8 // of switch 0 for the host on switch 2 of a row of 3
		want []route.FaultKind
	}{
		{"right", 3, nil},
		{"no port", route.NoPort, []route.FaultKind{route.FaultNoPath}},
		{"a port without a cable", 2, []route.FaultKind{route.FaultNoPath}},
		{"the switch itself", 0, []route.FaultKind{route.FaultNoPath}},
		{"a port that it has not", 9, []route.FaultKind{route.FaultNoPath}},
		{"another host", 1, []route.FaultKind{route.FaultStranger}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			g := route.NewGraph(line(-1, -1, -1), route.Selection{})
			tables := minhopPaths(t, g, hopsOf(t, g), 0)
			tables.Tables[0][6] = test.port // LIDs 1 to 3 are the switches'
			if got := kinds(route.CheckLFTs(tables)); !slices.Equal(got, test.want) {
				t.Errorf("faults: %v, want %v", got, test.want)
			}
		})
	}
}

func TestCheckLFTsFindsLoops(t *testing.T) {
	g := route.NewGraph(line(-1, -1, -1), route.Selection{})
	tables := minhopPaths(t, g, hopsOf(t, g), 0)
	tables.Tables[1][6] = 2 // back to switch 0
	if got := kinds(route.CheckLFTs(tables)); !slices.Equal(got, []route.FaultKind{route.FaultCycle}) {
		t.Errorf("faults: %v", got)
	}
}

func TestLookupBeyondATable(t *testing.T) {
	if got := (route.LFT{route.NoPort, 3}).Lookup(2); got != route.NoPort {
		t.Errorf("Lookup beyond the table gives port %d", got)
	}
}

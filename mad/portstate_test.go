package mad

import "testing"

func TestPortStateString(t *testing.T) {
	checkStrings(t, []PortState{PortNoChange, PortDown, PortInit, PortArmed, PortActive, 5},
		"NoChange", "Down", "Init", "Armed", "Active", "PortState(5)")
}

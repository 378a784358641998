package mad

import (
	"fmt"
	"testing"
)

// diags is of a table that ends with its last entry that is not zero.
func (t VLArbitration) diags() []string {
	used := len(t)
	for used > 0 && t[used-1] == (VLWeight{}) {
		used--
	}
	vls, weights := "VL    : |", "WEIGHT: |"
	for _, e := range t[:used] {
		vls += fmt.Sprintf("0x%-2X|", uint8(e.VL))
		weights += fmt.Sprintf("0x%-2X|", e.Weight)
	}
	return []string{vls, weights}
}

func TestVLArbitrationModifier(t *testing.T) {
	if m := VLArbitrationModifier(VLArbitrationHighFirst, 36); m != 0x00030024 {
		t.Errorf("got %#x", m)
	}
	if part, port := SplitVLArbitrationModifier(0x00020007); part != VLArbitrationLowSecond || port != 7 {
		t.Errorf("got part %d port %d", part, port)
	}
}

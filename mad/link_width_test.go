package mad

import (
	"testing"

	"heddle/ib"
)

func TestLinkWidth(t *testing.T) {
	all := LinkWidthOf(ib.Width1x, ib.Width2x, ib.Width4x, ib.Width8x, ib.Width12x)
	if all != 31 || LinkWidthOf() != 0 || LinkWidthOf(ib.Width(99)) != 0 {
		t.Errorf("all widths are %#x", uint8(all))
	}
	for _, c := range []struct {
		set  LinkWidth
		want ib.Width
	}{{0, 0}, {1, ib.Width1x}, {1 | 16, ib.Width2x}, {16 | 2, ib.Width4x}, {4 | 2, ib.Width8x}, {LinkWidthAllSupported, ib.Width12x}, {0xE0, 0}} {
		if got := c.set.Widest(); got != c.want {
			t.Errorf("the widest of %v is %v, want %v", c.set, got, c.want)
		}
	}
	checkStrings(t, []LinkWidth{0, 3, 31, 0x42}, "none", "1x|4x", "1x|4x|8x|12x|2x", "4x|0x40")
}

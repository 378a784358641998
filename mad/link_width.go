package mad

import "heddle/ib"

// LinkWidth is a set of widths, one bit each (IBTA 1, 14.2.5.6: LinkWidth).
type LinkWidth uint8

// What a Set of LinkWidthEnabled may say beside a set of widths.
const (
	LinkWidthNoChange     LinkWidth = 0
	LinkWidthAllSupported LinkWidth = 255
)

// LinkWidthOf is the set of the given widths.
func LinkWidthOf(widths ...ib.Width) LinkWidth {
	var set LinkWidth
	for _, w := range widths {
		set |= LinkWidth(w.Code())
	}
	return set
}

// Widest is the widest of the set, 0 where no bit of it is known.
func (l LinkWidth) Widest() ib.Width {
	for w := ib.Width12x; w > 0; w-- {
		if l&LinkWidth(w.Code()) != 0 {
			return w
		}
	}
	return 0
}

// String lists the widths: 1x|4x.
func (l LinkWidth) String() string { return listBits(l, []string{"1x", "4x", "8x", "12x", "2x"}) }

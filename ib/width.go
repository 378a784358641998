package ib

import "strconv"

// Width is the number of lanes that a link runs on. Widths compare as their
// lanes do. Zero means unknown.
type Width uint8

// All widths.
const (
	Width1x Width = 1 + iota
	Width2x
	Width4x
	Width8x
	Width12x
)

// widths holds the lanes and the PortInfo bit of each width. 2x came last,
// and so has the highest bit.
var widths = [...]struct {
	lanes int
	code  uint8
}{
	Width1x: {1, 1}, Width2x: {2, 16}, Width4x: {4, 2}, Width8x: {8, 4}, Width12x: {12, 8},
}

var widthForm = form{"link width", "1x, 2x, 4x, 8x or 12x"}

// ParseWidth reads the number of lanes, with or without an x after it: "4x",
// "4X" or "4".
func ParseWidth(s string) (Width, error) {
	lanes := s
	if n := len(s) - 1; n >= 0 && (s[n] == 'x' || s[n] == 'X') {
		lanes = s[:n]
	}
	for w := Width1x; w <= Width12x; w++ {
		if lanes == strconv.Itoa(w.Lanes()) {
			return w, nil
		}
	}
	if isDigits(lanes) {
		return 0, widthForm.outOfRange(s)
	}
	return 0, widthForm.malformed(s)
}

// WidthFromCode gives the width whose bit in PortInfo is code, and zero for a
// code of no bit, of several, or of an unknown one.
func WidthFromCode(code uint8) Width {
	for w := Width1x; w <= Width12x; w++ {
		if w.Code() == code {
			return w
		}
	}
	return 0
}

// Code gives the width's bit in PortInfo: 1, 2, 4 and 8 for 1x, 4x, 8x and
// 12x, 16 for 2x, and 0 where w is not known.
func (w Width) Code() uint8 {
	if !w.IsValid() {
		return 0
	}
	return widths[w].code
}

// Lanes gives the number of lanes, 0 where w is not known.
func (w Width) Lanes() int {
	if !w.IsValid() {
		return 0
	}
	return widths[w].lanes
}

// IsValid tells whether w is known.
func (w Width) IsValid() bool { return w >= Width1x && w <= Width12x }

// String gives "4x", "?" for zero, and Width(n) where n means nothing.
func (w Width) String() string {
	switch {
	case w.IsValid():
		return strconv.Itoa(w.Lanes()) + "x"
	case w == 0:
		return unknownMark
	}
	return unknown("Width", uint8(w))
}

// unknownMark stands for a width or a speed that nobody stated.
const unknownMark = "?"

// MarshalText gives the form of String.
func (w Width) MarshalText() ([]byte, error) { return marshalText(w) }

// UnmarshalText reads what ParseWidth reads.
func (w *Width) UnmarshalText(text []byte) error { return unmarshalText(w, text, ParseWidth) }

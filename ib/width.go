package ib

import (
	"strconv"
	"strings"
)

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
	err := ErrSyntax
	if isDigits(lanes) {
		err = ErrRange
	}
	return 0, &ParseError{Type: "link width", Text: s, Want: "1x, 2x, 4x, 8x or 12x", Err: err}
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

// LinkRate is what a link runs at. Either half may be unknown. Two LinkRates
// with the same Gbps may differ.
type LinkRate struct {
	Width
	Speed
}

const wantLinkRate = "a width and a speed such as 4xHDR"

// ParseLinkRate reads a width as "4x" and then a speed in any form of
// ParseSpeed: "4xHDR", "4x 2.5 Gbps". A "?" instead of one of them leaves it
// unknown.
func ParseLinkRate(s string) (LinkRate, error) {
	width, speed, ok := cutWidth(s)
	if !ok {
		return LinkRate{}, &ParseError{Type: "link rate", Text: s, Want: wantLinkRate, Err: ErrSyntax}
	}
	var r LinkRate
	werr := unlessUnknown(&r.Width, width, ParseWidth)
	serr := unlessUnknown(&r.Speed, speed, ParseSpeed)
	for _, err := range [...]error{werr, serr} {
		if err != nil {
			return LinkRate{}, err
		}
	}
	if r == (LinkRate{}) {
		return LinkRate{}, &ParseError{Type: "link rate", Text: s, Want: wantLinkRate, Err: ErrRange}
	}
	return r, nil
}

// cutWidth splits behind the first x, or behind the mark of an unknown width.
func cutWidth(s string) (width, speed string, ok bool) {
	if rest, ok := strings.CutPrefix(s, unknownMark); ok {
		return unknownMark, rest, true
	}
	at := strings.IndexAny(s, "xX")
	if at < 0 {
		return "", "", false
	}
	return s[:at+1], strings.TrimPrefix(s[at+1:], " "), true
}

func unlessUnknown[T any](dst *T, s string, parse func(string) (T, error)) error {
	if s == unknownMark {
		return nil
	}
	v, err := parse(s)
	*dst = v
	return err
}

// Gbps gives the nominal rate of all lanes together in gigabits per second, 0
// where a half is unknown.
func (r LinkRate) Gbps() float64 { return float64(r.Lanes()) * r.LaneGbps() }

// Rate gives the code that path and group records use, zero where a half is
// unknown or no code exists.
func (r LinkRate) Rate() Rate { return RateFromGbps(r.Gbps()) }

// IsValid tells whether both halves are known.
func (r LinkRate) IsValid() bool { return r.Width.IsValid() && r.Speed.IsValid() }

// String gives "4xHDR", with "?" for a half that is unknown.
func (r LinkRate) String() string { return r.Width.String() + r.Speed.String() }

// MarshalText gives the form of String.
func (r LinkRate) MarshalText() ([]byte, error) {
	if r == (LinkRate{}) {
		return []byte{}, nil
	}
	if back, err := ParseLinkRate(r.String()); err != nil || back != r {
		return nil, &ParseError{Type: "link rate", Text: r.String(), Want: wantLinkRate, Err: ErrRange}
	}
	return []byte(r.String()), nil
}

// UnmarshalText reads what ParseLinkRate reads.
func (r *LinkRate) UnmarshalText(text []byte) error { return unmarshalText(r, text, ParseLinkRate) }

package ib

import "strings"

// LinkRate is what a link runs at. Either half may be unknown. Two LinkRates
// with the same Gbps may differ.
type LinkRate struct {
	Width
	Speed
}

var linkRateForm = form{"link rate", "a width and a speed such as 4xHDR"}

// ParseLinkRate reads a width as "4x" and then a speed in any form of
// ParseSpeed: "4xHDR", "4x 2.5 Gbps". A "?" instead of one of them leaves it
// unknown. The error is that of the half that was refused.
func ParseLinkRate(s string) (LinkRate, error) {
	width, speed, ok := cutWidth(s)
	if !ok {
		return LinkRate{}, linkRateForm.malformed(s)
	}
	w, err := parseHalf(width, ParseWidth)
	if err != nil {
		return LinkRate{}, err
	}
	v, err := parseHalf(speed, ParseSpeed)
	if err != nil {
		return LinkRate{}, err
	}
	if w == 0 && v == 0 {
		return LinkRate{}, linkRateForm.outOfRange(s)
	}
	return LinkRate{w, v}, nil
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

// parseHalf reads the zero value from the mark of the unknown.
func parseHalf[T any](s string, parse func(string) (T, error)) (v T, err error) {
	if s == unknownMark {
		return v, nil
	}
	return parse(s)
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
	if (r.Width != 0 && !r.Width.IsValid()) || (r.Speed != 0 && !r.Speed.IsValid()) {
		return nil, linkRateForm.outOfRange(r.String())
	}
	return []byte(r.String()), nil
}

// UnmarshalText reads what ParseLinkRate reads.
func (r *LinkRate) UnmarshalText(text []byte) error { return unmarshalText(r, text, ParseLinkRate) }

package ib

import "strings"

// Speed is what one lane of a link runs at. Speeds compare as their rates do.
// Zero means unknown.
type Speed uint8

// All speeds.
const (
	SDR Speed = 1 + iota
	DDR
	QDR
	FDR10
	FDR
	EDR
	HDR
	NDR
	XDR
)

// speeds holds for each speed its name, the nominal rate of a lane and the
// rate of the signal, both in gigabits per second.
var speeds = [...]struct {
	name         string
	lane, signal float64
}{
	SDR:   {"SDR", 2.5, 2.5},
	DDR:   {"DDR", 5, 5},
	QDR:   {"QDR", 10, 10},
	FDR10: {"FDR10", 10, 10.3125},
	FDR:   {"FDR", 14, 14.0625},
	EDR:   {"EDR", 25, 25.78125},
	HDR:   {"HDR", 50, 53.125},
	NDR:   {"NDR", 100, 106.25},
	XDR:   {"XDR", 200, 212.5},
}

var speedForm = form{"link speed", "SDR, DDR, QDR, FDR10, FDR, EDR, HDR, NDR, XDR or the rate of a lane such as 2.5 Gbps"}

// ParseSpeed reads a speed's name in any case, or the rate of a lane, nominal
// or of the signal, with or without its unit: "hdr", "2.5 Gbps", "10.0 Gbps",
// "25.78125". A plain 10 is QDR; FDR10 is told by its name or by 10.3125.
func ParseSpeed(s string) (Speed, error) {
	for v := SDR; v <= XDR; v++ {
		if strings.EqualFold(s, v.String()) {
			return v, nil
		}
	}
	number, _ := cutGbps(s)
	gbps, ok := parseDecimal(number)
	if !ok {
		return 0, speedForm.malformed(s)
	}
	for v := SDR; v <= XDR; v++ {
		if gbps == speeds[v].lane || gbps == speeds[v].signal {
			return v, nil
		}
	}
	return 0, speedForm.outOfRange(s)
}

// LaneGbps gives the nominal rate of one lane in gigabits per second, which is
// what the names of rates count with: 2.5, 5, 10, 10, 14, 25, 50, 100 and 200
// from SDR to XDR, 0 where v is not known.
func (v Speed) LaneGbps() float64 {
	if !v.IsValid() {
		return 0
	}
	return speeds[v].lane
}

// SignalGbps gives the bits on the wire of one lane in gigabits per second,
// coding included: 53.125 for HDR, 0 where v is not known.
func (v Speed) SignalGbps() float64 {
	if !v.IsValid() {
		return 0
	}
	return speeds[v].signal
}

// IsValid tells whether v is known.
func (v Speed) IsValid() bool { return v >= SDR && v <= XDR }

// String gives "HDR", "?" for zero, and Speed(n) where n means nothing.
func (v Speed) String() string {
	switch {
	case v.IsValid():
		return speeds[v].name
	case v == 0:
		return unknownMark
	}
	return unknown("Speed", uint8(v))
}

// MarshalText gives the form of String.
func (v Speed) MarshalText() ([]byte, error) { return marshalText(v) }

// UnmarshalText reads what ParseSpeed reads.
func (v *Speed) UnmarshalText(text []byte) error { return unmarshalText(v, text, ParseSpeed) }

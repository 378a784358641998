package ib

import (
	"cmp"
	"strconv"
)

// Rate is the code of a path's rate, as in path and group records. The codes
// grew over the years and are not in the order of the rates: use Compare. Zero
// is invalid.
type Rate uint8

// All rates, named by their nominal gigabits per second.
const (
	Rate2_5  Rate = 2
	Rate10   Rate = 3
	Rate30   Rate = 4
	Rate5    Rate = 5
	Rate20   Rate = 6
	Rate40   Rate = 7
	Rate60   Rate = 8
	Rate80   Rate = 9
	Rate120  Rate = 10
	Rate14   Rate = 11
	Rate56   Rate = 12
	Rate112  Rate = 13
	Rate168  Rate = 14
	Rate25   Rate = 15
	Rate100  Rate = 16
	Rate200  Rate = 17
	Rate300  Rate = 18
	Rate28   Rate = 19
	Rate50   Rate = 20
	Rate400  Rate = 21
	Rate600  Rate = 22
	Rate800  Rate = 23
	Rate1200 Rate = 24
	Rate1600 Rate = 25
)

// rateGbps holds the nominal rate of each code.
var rateGbps = [...]float64{
	Rate2_5: 2.5, Rate10: 10, Rate30: 30, Rate5: 5, Rate20: 20, Rate40: 40,
	Rate60: 60, Rate80: 80, Rate120: 120, Rate14: 14, Rate56: 56,
	Rate112: 112, Rate168: 168, Rate25: 25, Rate100: 100, Rate200: 200,
	Rate300: 300, Rate28: 28, Rate50: 50, Rate400: 400, Rate600: 600,
	Rate800: 800, Rate1200: 1200, Rate1600: 1600,
}

// lastBareCode is the highest code that ParseRate takes from a bare number:
// 25 was written as a rate long before it became a code.
const lastBareCode = Rate1200

var rateForm = form{"rate", "a rate in Gb/s such as 2.5, 100 or 10G, or a code 2 to 24 (a bare number up to 24 is a code)"}

// ParseRate reads a code or a number of gigabits per second. A whole number
// from 2 to 24 without a unit is a code, as in the partition files of subnet
// managers: "10" is code 10, 120 Gb/s. Any other number, and any number with a
// unit ("10G", "10 Gbps", "10 Gb/s"), is a rate.
func ParseRate(s string) (Rate, error) {
	number, hasUnit := cutGbps(s)
	gbps, ok := parseDecimal(number)
	if !ok {
		return 0, rateForm.malformed(s)
	}
	r := RateFromGbps(gbps)
	if !hasUnit && isDigits(number) && gbps <= float64(lastBareCode) {
		r = Rate(gbps)
	}
	if !r.IsValid() {
		return 0, rateForm.outOfRange(s)
	}
	return r, nil
}

// RateFromGbps gives the code of a nominal rate, zero where it has none.
func RateFromGbps(gbps float64) Rate {
	for code, v := range rateGbps {
		if v == gbps && v != 0 {
			return Rate(code)
		}
	}
	return 0
}

// Gbps gives the nominal rate in gigabits per second, 0 where r is not valid.
func (r Rate) Gbps() float64 {
	if int(r) >= len(rateGbps) {
		return 0
	}
	return rateGbps[r]
}

// IsValid tells whether r is a code: 2 to 25.
func (r Rate) IsValid() bool { return r.Gbps() != 0 }

// Compare orders by rate, not by code: -1, 0 or 1. Codes that are not valid
// come first, and are equal.
func (r Rate) Compare(other Rate) int { return cmp.Compare(r.Gbps(), other.Gbps()) }

// String gives the rate with its unit, "2.5 Gb/s", or Rate(n) where r is not
// valid.
func (r Rate) String() string {
	if !r.IsValid() {
		return unknown("Rate", uint8(r))
	}
	return strconv.FormatFloat(r.Gbps(), 'f', -1, 64) + " Gb/s"
}

// MarshalText gives the form of String.
func (r Rate) MarshalText() ([]byte, error) { return marshalText(r) }

// UnmarshalText reads what ParseRate reads.
func (r *Rate) UnmarshalText(text []byte) error { return unmarshalText(r, text, ParseRate) }

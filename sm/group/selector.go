package group

import "heddle/ib"

// Selector says how a request compares the MTU, rate or packet lifetime beside
// it, with the values of MCMemberRecord, 0 to 3 (IBTA 1, 15.2.5.17).
type Selector uint8

// The comparisons.
const (
	Greater Selector = iota // than the value
	Less                    // than the value
	Exactly                 // the value
	Largest                 // the largest that there is, the smallest lifetime; the value does not matter
)

// admits tells whether a group's value is what the selector asks for, by how
// it compares with the request's value.
func (s Selector) admits(compared int) bool {
	switch s {
	case Greater:
		return compared > 0
	case Less:
		return compared < 0
	case Exactly:
		return compared == 0
	default:
		return s == Largest
	}
}

// pickMTU gives the largest MTU up to most that the selector admits, zero where
// there is none.
func (s Selector) pickMTU(value, most ib.MTU) ib.MTU {
	for m := min(most, ib.MTU4096); m.IsValid(); m-- {
		if s.admits(int(m) - int(value)) {
			return m
		}
	}
	return 0
}

// lastRate is the highest code of a rate.
const lastRate = ib.Rate1600

// pickRate gives the highest rate up to most that the selector admits, zero
// where there is none.
func (s Selector) pickRate(value, most ib.Rate) ib.Rate {
	var best ib.Rate
	for r := range lastRate + 1 {
		if r.IsValid() && r.Compare(most) <= 0 && s.admits(r.Compare(value)) && r.Compare(best) > 0 {
			best = r
		}
	}
	return best
}

// maxLifetime is the highest code of a packet lifetime, 6 bits.
const maxLifetime = 63

// pickLifetime gives the code nearest to usual that the selector admits.
func (s Selector) pickLifetime(value, usual uint8) (code uint8, ok bool) {
	switch {
	case value > maxLifetime && s != Largest:
		return 0, false
	case s.admits(int(usual) - int(value)):
		return usual, true
	case s == Exactly:
		return value, true
	case s == Greater && value < maxLifetime:
		return value + 1, true
	case s == Less && value > 0:
		return value - 1, true
	}
	return 0, false
}

package mad

import "fmt"

// Selector says how a request compares the MTU, rate or packet lifetime that
// stands beside it, 2 bits (IBTA 1, 15.2.5.16).
type Selector uint8

// The comparisons.
const (
	SelectGreater Selector = iota // than the value
	SelectLess                    // than the value
	SelectExactly
	SelectLargest // the largest that there is, the smallest lifetime; the value does not matter
)

// String names the comparison.
func (s Selector) String() string {
	switch s {
	case SelectGreater:
		return "greater"
	case SelectLess:
		return "less"
	case SelectExactly:
		return "exactly"
	case SelectLargest:
		return "largest"
	default:
		return fmt.Sprintf("Selector(%d)", uint8(s))
	}
}

// admits tells whether the result of comparing a record's value with the
// request's is what the selector asks for.
func (s Selector) admits(compared int) bool {
	switch s {
	case SelectGreater:
		return compared > 0
	case SelectLess:
		return compared < 0
	case SelectExactly:
		return compared == 0
	default:
		return true
	}
}

// selected packs a selector and its value of 6 bits into a byte.
func selected[V ~uint8](s Selector, v V) byte { return byte(s)<<6 | byte(v)&0x3F }

const flowLabelMask = 1<<20 - 1

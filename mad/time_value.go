package mad

import (
	"fmt"
	"math"
	"time"
)

// TimeValue is a time as powers of two: 4.096 microseconds times 2^n
// (IBTA 1, 13.4.6.2). The fields that hold one have 5 or 6 bits.
type TimeValue uint8

// Duration is the time, as long as a Duration can be for a time that is longer.
func (v TimeValue) Duration() time.Duration {
	const longest = 51 // 4096 ns times 2^51 would not fit
	if v >= longest {
		return math.MaxInt64
	}
	return 4096 * time.Nanosecond << v
}

// String gives the code and the time: 18 (1.073741824s).
func (v TimeValue) String() string { return fmt.Sprintf("%d (%v)", uint8(v), v.Duration()) }

package ibv

import (
	"math/bits"
	"time"
)

// ackTimeout is the code of the shortest time to wait for an acknowledgement
// that is not below t (IBTA 9.7.6): 4.096 µs times a power of two.
func ackTimeout(t time.Duration) uint8 {
	const unit = 4096 * time.Nanosecond
	units := max(1, (t+unit-1)/unit)
	return uint8(min(max(1, bits.Len64(uint64(units-1))), 31))
}

// rnrTimers are the times of the codes 1 to 31 of an RNR NAK, in hundredths of a
// millisecond (IBTA 9.7.5).
var rnrTimers = [...]time.Duration{
	1: 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096,
	6144, 8192, 12288, 16384, 24576, 32768, 49152,
}

// rnrTimer is the code of the shortest time that is not below t; 0 is the
// longest one, 655.36 ms.
func rnrTimer(t time.Duration) uint8 {
	for code, hundredths := range rnrTimers {
		if code > 0 && hundredths*10*time.Microsecond >= t {
			return uint8(code)
		}
	}
	return 0
}

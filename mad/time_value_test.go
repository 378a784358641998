package mad

import (
	"math"
	"testing"
	"time"
)

func TestTimeValue(t *testing.T) {
	for _, c := range []struct {
		value TimeValue
		want  time.Duration
	}{
		{0, 4096},
		{1, 8192},
		{18, 1073741824},
		{31, 8796093022208},
		{50, 4096 << 50},
		{51, math.MaxInt64},
		{255, math.MaxInt64},
	} {
		if got := c.value.Duration(); got != c.want {
			t.Errorf("%d is %d ns, want %d", c.value, got, c.want)
		}
	}
	checkStrings(t, []TimeValue{0, 18}, "0 (4.096µs)", "18 (1.073741824s)")
}

package mad

import (
	"fmt"
	"testing"
)

// checkStrings compares the texts of values.
func checkStrings[T fmt.Stringer](t *testing.T, values []T, want ...string) {
	t.Helper()
	if len(values) != len(want) {
		t.Fatalf("%d values, %d texts", len(values), len(want))
	}
	for i, v := range values {
		if v.String() != want[i] {
			t.Errorf("value %d is %q, want %q", i, v, want[i])
		}
	}
}

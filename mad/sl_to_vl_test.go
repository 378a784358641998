package mad

import (
	"fmt"
	"strings"
	"testing"
)

// diags has the row of the first port in.
func (m SLtoVLMapping) diags() []string {
	var row strings.Builder
	row.WriteString("ports: in  0, out  1: |")
	for _, vl := range m {
		row.WriteString(fmt.Sprintf("%2d|", uint8(vl)))
	}
	return []string{row.String()}
}

func TestSLtoVLModifier(t *testing.T) {
	if m := SLtoVLModifier(3, 36); m != 0x0324 {
		t.Errorf("got %#x", m)
	}
	if in, out := SplitSLtoVLModifier(0xFFFF0324); in != 3 || out != 36 {
		t.Errorf("got in %d out %d", in, out)
	}
}

package mad

import (
	"fmt"
	"strings"
	"testing"
)

func (t PKeyTable) diags() []string {
	var rows []string
	for i := 0; i < len(t); i += 8 {
		var row strings.Builder
		row.WriteString(fmt.Sprintf("%d:", i))
		for _, key := range t[i : i+8] {
			row.WriteString(" " + key.String())
		}
		rows = append(rows, row.String())
	}
	return rows
}

func TestPKeyTableModifier(t *testing.T) {
	if m := PKeyTableModifier(7, 2); m != 0x00070002 {
		t.Errorf("got %#x", m)
	}
	if port, block := SplitPKeyTableModifier(0xFF240103); port != 0x24 || block != 0x0103 {
		t.Errorf("got port %d block %d", port, block)
	}
}

package mad

import (
	"strings"
	"testing"
)

func (d NodeDescription) diags() []string {
	return []string{"Node Description:" + strings.Repeat(".", 32-len(d.String())) + d.String()}
}

func TestNodeDescription(t *testing.T) {
	long := strings.Repeat("x", 70)
	for _, c := range []struct{ text, want string }{
		{"", ""},
		{"sw1", "sw1"},
		{"a\x00b", "a"}, // what follows the end is no text
		{"MF0;leaf 7 \u00e9\xff", "MF0;leaf 7 \u00e9\xff"},
		{long, long[:64]},
	} {
		if got := NewNodeDescription(c.text).String(); got != c.want {
			t.Errorf("%q became %q", c.text, got)
		}
	}
}

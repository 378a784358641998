package text_test

import (
	"testing"

	"heddle/cli/text"
)

func TestThousands(t *testing.T) {
	for n, want := range map[int]string{
		0: "0", 12: "12", 999: "999", 1000: "1,000", 123456: "123,456", 1234567: "1,234,567", -5: "-5", -123: "-123", -1234: "-1,234",
	} {
		if got := text.Thousands(n); got != want {
			t.Errorf("Thousands(%d) = %q, want %q", n, got, want)
		}
	}
}

func TestCount(t *testing.T) {
	for n, want := range map[int]string{0: "0 links", 1: "1 link", 2: "2 links", 2000: "2,000 links"} {
		if got := text.Count(n, "link"); got != want {
			t.Errorf("Count(%d) = %q, want %q", n, got, want)
		}
	}
}

package cli

import (
	"testing"
	"time"

	"heddle/ib"
)

func TestNextMGID(t *testing.T) {
	for _, test := range []struct {
		first, want string
		n           uint64
		ok          bool
	}{
		{"ff12:a01c:1::", "ff12:a01c:1::", 0, true},
		{"ff12:a01c:1::", "ff12:a01c:1::1:5", 1<<16 + 5, true},
		{"ff12:a01c:1::ff:ffff", "ff12:a01c:1::100:0", 1, true},
		{"ff12::1:0:0:ffff", "ff12::1:0:1:0", 1, true},
		{"ff12::ffff:ffff:ffff:fffe", "ff12::ffff:ffff:ffff:ffff", 1, true},
		{"ff12::ffff:ffff:ffff:fffe", "ff12::", 2, false},
	} {
		got, ok := nextMGID(ib.MustParseMGID(test.first), test.n)
		if got != ib.MustParseMGID(test.want) || ok != test.ok {
			t.Errorf("%s and %d: %v, %v", test.first, test.n, got, ok)
		}
	}
}

func TestPercentiles(t *testing.T) {
	s := &storm{}
	if s.percentile(50) != 0 {
		t.Error("nothing was granted")
	}
	for i := range 101 {
		s.latencies = append(s.latencies, time.Duration(i))
	}
	for _, p := range []int{0, 50, 99, 100} {
		if got := s.percentile(p); got != time.Duration(p) {
			t.Errorf("%d%%: %d", p, got)
		}
	}
}

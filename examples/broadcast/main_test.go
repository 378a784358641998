package main

import (
	"strings"
	"testing"
)

func TestBroadcast(t *testing.T) {
	var out strings.Builder
	if err := run(t.Context(), &out); err != nil {
		t.Fatal(err)
	}
	got := strings.Split(strings.TrimSpace(out.String()), "\n")
	want := []string{
		"reader 0: all 4000 lines", "reader 1: all 4000 lines", "reader 2: all 4000 lines", "reader 3: evicted after",
		"the log: 4000 lines, 0 requests for them",
	}
	for i, line := range got {
		if i >= len(want) || !strings.HasPrefix(line, want[i]) {
			t.Fatalf("%s", out.String())
		}
	}
}

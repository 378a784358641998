package main

import (
	"strings"
	"testing"
)

func TestQueue(t *testing.T) {
	var out strings.Builder
	if err := run(t.Context(), &out); err != nil {
		t.Fatal(err)
	}
	const want = "10000 tasks of 4 producers, 2500 of each, sum 12495000\n"
	if !strings.HasPrefix(out.String(), want) {
		t.Errorf("%s\nwant it to begin with\n%s", out.String(), want)
	}
}

package main

import (
	"strings"
	"testing"
)

func TestGRPC(t *testing.T) {
	var out strings.Builder
	if err := run(t.Context(), &out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"unary: 2000 calls, ", "watch: the server is SERVING\n", "watch: the server is NOT_SERVING\n", "echo: 64 pieces of 64 KiB each way\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in\n%s", want, out.String())
		}
	}
}

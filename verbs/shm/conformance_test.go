//go:build linux && (amd64 || arm64)

package shm_test

import (
	"testing"

	"heddle/verbs"
	"heddle/verbs/shm"
	"heddle/verbs/verbstest"
)

// TestConformance: two contexts of one process.
func TestConformance(t *testing.T) {
	verbstest.Run(t, verbstest.Suite{Open: func(tb testing.TB) (near, far verbs.Context) {
		return open(tb), open(tb)
	}})
}

func open(tb testing.TB) verbs.Context {
	tb.Helper()
	devices, err := shm.Provider{}.Devices()
	if err != nil {
		tb.Fatal(err)
	}
	ctx, err := devices[0].Open()
	if err != nil {
		tb.Fatal(err)
	}
	return ctx
}

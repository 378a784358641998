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

// TestConformanceTwoProcesses: the far context is of another process.
func TestConformanceTwoProcesses(t *testing.T) {
	peer := verbstest.Start(t)
	verbstest.Run(t, verbstest.Suite{Open: func(tb testing.TB) (near, far verbs.Context) {
		far, err := peer.Open()
		if err != nil {
			tb.Fatal(err)
		}
		return open(tb), far
	}})
}

// TestConformanceOtherWay: the near context, which sends and writes most, is of
// another process.
func TestConformanceOtherWay(t *testing.T) {
	peer := verbstest.Start(t)
	verbstest.Run(t, verbstest.Suite{Open: func(tb testing.TB) (near, far verbs.Context) {
		near, err := peer.Open()
		if err != nil {
			tb.Fatal(err)
		}
		return near, open(tb)
	}, Deviations: []verbstest.Deviation{
		{Test: "BadEndpoint", Reason: "a context that has ended does not reach the other process", Skip: true},
		{Test: "OneSGEMore", Reason: "the numbers of an error stay in the other process"},
		{Test: "Limits", Reason: "the numbers of an error stay in the other process"},
		{Test: "V7", Reason: "the numbers of an error stay in the other process"},
		{Test: "NoAllocs", Reason: "calls to another process allocate"},
	}})
}

func open(tb testing.TB) verbs.Context {
	tb.Helper()
	ctx, err := openShm()
	if err != nil {
		tb.Fatal(err)
	}
	return ctx
}

func openShm() (verbs.Context, error) {
	devices, err := shm.Provider{}.Devices()
	if err != nil {
		return nil, err
	}
	return devices[0].Open()
}

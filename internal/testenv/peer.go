package testenv

import (
	"context"
	"errors"
	"testing"
	"time"

	"heddle/internal/peer"
)

// Peer returns the path of a program that the test runs, such as "ibsim" or
// "opensm". It looks in PATH, then where Debian keeps the programs of an
// administrator, which a user's PATH often lacks. Where the program is missing
// the test fails, or is skipped under `go test -short`.
func Peer(tb testing.TB, program string) string {
	tb.Helper()
	path, err := peer.Find(program)
	check(tb, err)
	return path
}

// check ends the test where there is an error: it is skipped under `go test
// -short` where a peer is missing, and else fails.
func check(tb testing.TB, err error) {
	tb.Helper()
	var missing *peer.MissingError
	switch {
	case err == nil:
	case !errors.As(err, &missing):
		tb.Fatal(err)
	case testing.Short():
		tb.Skipf("%v; skipped, as this is go test -short", err)
	default:
		tb.Fatalf("%v; `make peers` installs it, `go test -short` goes without", err)
	}
}

// patience is how long a peer may take for anything before the test fails.
const patience = 3 * time.Minute

// patient calls what waits for a peer.
func patient(tb testing.TB, wait func(context.Context) error) error {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(tb.Context()), patience)
	defer cancel()
	return wait(ctx)
}

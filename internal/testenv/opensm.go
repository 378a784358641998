package testenv

import (
	"context"
	"errors"
	"testing"

	"heddle/internal/peer"
)

// Diag runs one of infiniband-diags' programs at a node of a simulated subnet
// and returns its standard output. The node is an ID or a description, "" the
// first of the subnet. The test fails where the program does.
func Diag(tb testing.TB, socketName, node, program string, args ...string) string {
	tb.Helper()
	out, err := TryDiag(tb, socketName, node, program, args...)
	if err != nil {
		tb.Fatal(err)
	}
	return out
}

// TryDiag is Diag for programs that may fail; the error has what the program
// said.
func TryDiag(tb testing.TB, socketName, node, program string, args ...string) (out string, err error) {
	tb.Helper()
	err = patient(tb, func(ctx context.Context) (err error) {
		out, err = peer.Diag(ctx, tb.TempDir(), socketName, node, program, args...)
		return err
	})
	var missing *peer.MissingError
	if errors.As(err, &missing) || errors.Is(err, context.DeadlineExceeded) {
		check(tb, err)
	}
	return out, err
}

// OpenSM is a running OpenSM, until the end of the test.
type OpenSM struct {
	// Dir is where it keeps its dumps and its cache.
	Dir string
	sm  *peer.OpenSM
}

// StartOpenSM starts Debian's OpenSM at a node of a simulated subnet. Each of
// the options is a line of its configuration file: "sweep_interval 1". There
// must be a server at the sockets, or it waits for one forever.
func StartOpenSM(tb testing.TB, socketName, node string, options ...string) *OpenSM {
	tb.Helper()
	dir := tb.TempDir()
	sm, err := peer.StartOpenSM(dir, socketName, node, options...)
	check(tb, err)
	tb.Cleanup(sm.Stop)
	return &OpenSM{Dir: dir, sm: sm}
}

// WaitLog waits until the log has a text, after that of the last WaitLog, and
// returns the log between them.
func (sm *OpenSM) WaitLog(tb testing.TB, text string) (log string) {
	tb.Helper()
	check(tb, patient(tb, func(ctx context.Context) (err error) {
		log, err = sm.sm.Wait(ctx, text)
		return err
	}))
	return log
}

// WaitSubnetUp waits for the end of a sweep that programmed the subnet.
func (sm *OpenSM) WaitSubnetUp(tb testing.TB) {
	tb.Helper()
	check(tb, patient(tb, sm.sm.WaitSubnetUp))
}

// Log is the whole log so far.
func (sm *OpenSM) Log() string { return sm.sm.Output() }

// PID is the number of OpenSM's process.
func (sm *OpenSM) PID() int { return sm.sm.PID() }

// Stop kills OpenSM before the end of the test.
func (sm *OpenSM) Stop() { sm.sm.Stop() }

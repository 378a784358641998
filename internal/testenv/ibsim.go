package testenv

import (
	"context"
	"fmt"
	"hash/fnv"
	"os"
	"testing"

	"heddle/internal/peer"
)

// SocketName is a base for the names of ibsim's sockets that no other test, of
// this process or another, uses.
func SocketName(tb testing.TB) string {
	tb.Helper()
	h := fnv.New64a()
	h.Write([]byte(tb.TempDir()))
	return fmt.Sprintf("heddle-%d-%x", os.Getpid(), h.Sum64())
}

// IBSim is a running ibsim, until the end of the test.
type IBSim struct {
	// Name is the base of its socket names, IBSIM_SOCKNAME.
	Name string
	sim  *peer.IBSim
}

// StartIBSim starts Debian's ibsim on a net file, as ibsim or ibnetdiscover
// write it. It returns when clients can attach. The arguments go to ibsim: -S,
// -N and -P for subnets of more than 256 switches, 2,048 nodes or 13,312 ports,
// -r and -l for remote mode.
func StartIBSim(tb testing.TB, netFile string, args ...string) *IBSim {
	tb.Helper()
	s := &IBSim{Name: SocketName(tb)}
	check(tb, patient(tb, func(ctx context.Context) (err error) {
		s.sim, err = peer.StartIBSim(ctx, tb.TempDir(), netFile, s.Name, args...)
		return err
	}))
	tb.Cleanup(s.sim.Stop)
	return s
}

// Console gives ibsim a command, such as `Unlink "Switch1"[4]`, and returns
// what it says to it.
func (s *IBSim) Console(tb testing.TB, command string) (said string) {
	tb.Helper()
	check(tb, patient(tb, func(ctx context.Context) (err error) {
		said, err = s.sim.Console(ctx, command)
		return err
	}))
	return said
}

// Stop ends ibsim before the end of the test.
func (s *IBSim) Stop() { s.sim.Stop() }

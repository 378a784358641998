package testenv

import (
	"fmt"
	"hash/fnv"
	"os"
	"os/exec"
	"strings"
	"testing"
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
	p    *process
}

const (
	simPrompt = "sim> "
	// simMark is no command: what ibsim says of it stands behind the answer to
	// the command before. The prompt would not do, as some commands write it
	// twice.
	simMark   = "end-of-answer"
	simMarked = "command '" + simMark + "' unknown - skipped\n" + simPrompt
)

// StartIBSim starts Debian's ibsim on a net file, as ibsim or ibnetdiscover
// write it. It returns when clients can attach. The arguments go to ibsim: -S,
// -N and -P for subnets of more than 256 switches, 2,048 nodes or 13,312 ports,
// -r and -l for remote mode.
func StartIBSim(tb testing.TB, netFile string, args ...string) *IBSim {
	tb.Helper()
	s := &IBSim{Name: SocketName(tb)}
	cmd := exec.Command(Peer(tb, "ibsim"), append(append([]string{"-s"}, args...), netFile)...)
	cmd.Dir = tb.TempDir()
	cmd.Env = append(os.Environ(), "IBSIM_SOCKNAME="+s.Name)
	s.p = start(tb, cmd)
	s.Console(tb, "#") // the first prompt comes before there are sockets
	return s
}

// Console gives ibsim a command, such as `Unlink "Switch1"[4]`, and returns
// what it says to it.
func (s *IBSim) Console(tb testing.TB, command string) string {
	tb.Helper()
	s.p.send(tb, command)
	s.p.send(tb, simMark)
	answer := strings.TrimSuffix(s.p.wait(tb, simMarked), simMarked)
	return strings.TrimSuffix(answer, simPrompt)
}

// Stop ends ibsim before the end of the test.
func (s *IBSim) Stop() { s.p.stop() }

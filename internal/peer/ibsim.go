package peer

import (
	"context"
	"os"
	"os/exec"
	"strings"
)

// IBSim is a running ibsim.
type IBSim struct {
	*Process
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
// write it, in a directory and with the base of its sockets' names. It returns
// when clients can attach. The arguments go to ibsim: -S, -N and -P for subnets
// of more than 256 switches, 2,048 nodes or 13,312 ports, -r and -l for remote
// mode.
func StartIBSim(ctx context.Context, dir, netFile, socketName string, args ...string) (*IBSim, error) {
	program, err := Find("ibsim")
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(program, append(append([]string{"-s"}, args...), netFile)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "IBSIM_SOCKNAME="+socketName)
	p, err := Start(cmd)
	if err != nil {
		return nil, err
	}
	s := &IBSim{p}
	// the first prompt comes before there are sockets
	if _, err := s.Console(ctx, "#"); err != nil {
		s.Stop()
		return nil, err
	}
	return s, nil
}

// Console gives ibsim a command, such as `Unlink "Switch1"[4]`, and returns
// what it says to it.
func (s *IBSim) Console(ctx context.Context, command string) (string, error) {
	if err := s.Send(command); err != nil {
		return "", err
	}
	if err := s.Send(simMark); err != nil {
		return "", err
	}
	answer, err := s.Wait(ctx, simMarked)
	if err != nil {
		return "", err
	}
	return strings.TrimSuffix(strings.TrimSuffix(answer, simMarked), simPrompt), nil
}

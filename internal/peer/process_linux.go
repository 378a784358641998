package peer

import (
	"os/exec"
	"syscall"
)

// dieWithParent has the kernel kill the process when the thread that starts it
// ends, also where nothing is cleaned up.
func dieWithParent(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}

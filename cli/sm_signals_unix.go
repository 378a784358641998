//go:build unix

package cli

import (
	"os"
	"syscall"
)

// userSignals have the log opened anew, and the subnet dumped.
func userSignals() []os.Signal { return []os.Signal{syscall.SIGUSR1} }

//go:build linux && (amd64 || arm64)

package shm

import "golang.org/x/sys/unix"

// A barrier between a store and a load is what a wake-up, or a lock, costs those
// who are fast. membarrier(2) has the slow side do it for them: when it returns,
// each thread that it is about has passed one. It is a matter of a microsecond.

const (
	barrierGlobal         = 1 << 1 // MEMBARRIER_CMD_GLOBAL_EXPEDITED
	barrierGlobalRegister = 1 << 2
	barrierPrivate        = 1 << 3 // MEMBARRIER_CMD_PRIVATE_EXPEDITED
	barrierRegister       = 1 << 4
)

func membarrier(cmd uintptr) bool {
	_, _, errno := unix.RawSyscall(unix.SYS_MEMBARRIER, cmd, 0, 0)
	return errno == 0
}

// joinBarriers has this process take part in what others and itself call; false
// where the kernel has no such thing, or it is forbidden.
func joinBarriers() bool {
	for _, cmd := range []uintptr{barrierGlobalRegister, barrierRegister, barrierGlobal, barrierPrivate} {
		if !membarrier(cmd) {
			return false
		}
	}
	return true
}

// barrierAll is one of all processes that take part.
func barrierAll() { membarrier(barrierGlobal) }

// barrierHere is one of all threads of this process.
func barrierHere() { membarrier(barrierPrivate) }

package bench

import (
	"context"
	"fmt"
	"os"
	"time"
)

// users are the processes that share the processors while groups are joined.
type users struct {
	pids   [3]int // the manager's, the client's, which is this one, and the simulator's
	before [3]time.Duration
}

func (g *ground) users(sm *managing) users { return users{pids: [3]int{sm.PID(), os.Getpid(), g.pid}} }

func (u *users) read() (used [3]time.Duration, err error) {
	for i, pid := range u.pids {
		usage, err := usageOf(pid)
		if err != nil {
			return used, err
		}
		used[i] = usage.cpu
	}
	return used, nil
}

// begin notes what they have used so far.
func (u *users) begin() (err error) {
	u.before, err = u.read()
	return err
}

// end tells what they used since begin. Where the client simulates the subnet
// itself, both have the same.
func (u *users) end() (manager, client, simulator time.Duration, err error) {
	after, err := u.read()
	return after[0] - u.before[0], after[1] - u.before[1], after[2] - u.before[2], err
}

// idle waits until a manager has nothing to do but wait: what it does after a
// bring-up is not to be counted for the groups.
func idle(ctx context.Context, pid int) error {
	const still = 300 * time.Millisecond
	for before := time.Duration(-1); ; {
		now, err := usageOf(pid)
		if err != nil {
			return err
		}
		if now.cpu-before <= tick && before >= 0 {
			return nil
		}
		before = now.cpu
		select {
		case <-time.After(still):
		case <-ctx.Done():
			return fmt.Errorf("manager is never idle: %w", context.Cause(ctx))
		}
	}
}

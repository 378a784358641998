package bench

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"time"

	"heddle/cli/compare"
)

// usage is what a process has used so far.
type usage struct {
	cpu  time.Duration // in user mode and in the kernel, in steps of 10 ms
	peak int64         // the most memory, in bytes
}

// tick is the unit in which Linux tells processor time to programs.
const tick = 10 * time.Millisecond

// usageOf reads it from Linux' /proc.
func usageOf(pid int) (usage, error) {
	kib, err := compare.HighWater(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return usage{}, err
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return usage{}, err
	}
	ticks, err := cpuTicks(stat)
	if err != nil {
		return usage{}, fmt.Errorf("/proc/%d/stat: %w", pid, err)
	}
	return usage{time.Duration(ticks) * tick, kib * 1024}, nil
}

// cpuTicks reads fields 14 and 15 of a stat file. Field 2, the name in
// parentheses, may have anything in it.
func cpuTicks(stat []byte) (uint64, error) {
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 13 {
		return 0, fmt.Errorf("%d fields behind the name, want 13", len(fields))
	}
	user, err := strconv.ParseUint(string(fields[11]), 10, 64)
	if err != nil {
		return 0, err
	}
	system, err := strconv.ParseUint(string(fields[12]), 10, 64)
	return user + system, err
}

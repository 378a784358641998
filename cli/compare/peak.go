package compare

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"strings"
)

// peakBytes is the most memory that the process has had.
func peakBytes() int64 {
	if kib, err := HighWater("/proc/self/status"); err == nil {
		return kib * 1024
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.Sys)
}

// HighWater reads VmHWM, in KiB, from a process' status file of Linux.
func HighWater(path string) (kib int64, err error) {
	file, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		if rest, ok := strings.CutPrefix(lines.Text(), "VmHWM:"); ok {
			_, err = fmt.Sscanf(rest, "%d kB", &kib)
			return kib, err
		}
	}
	return 0, fmt.Errorf("%s has no VmHWM", path)
}

package testenv

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// VerbsDrivers are the Files of a virtual machine in which libibverbs is to find
// drivers, such as rxe. The library itself comes along with the program
// ibv_devinfo. Where a driver is missing the test fails as with Peer.
func VerbsDrivers(tb testing.TB, drivers ...string) map[string]string {
	tb.Helper()
	files := make(map[string]string)
	dir := filepath.Join(filepath.Dir(verbsLibrary(tb)), "libibverbs")
	for _, driver := range drivers {
		found, err := filepath.Glob(filepath.Join(dir, "lib"+driver+"-rdmav*.so"))
		if err != nil || len(found) == 0 {
			tb.Fatalf("libibverbs has no driver %s in %s: Debian's package ibverbs-providers has it", driver, dir)
		}
		config := filepath.Join("/etc/libibverbs.d", driver+".driver")
		files[found[0]], files[config] = found[0], config
	}
	return files
}

// verbsLibrary is the path of the libibverbs that ibv_devinfo runs with.
func verbsLibrary(tb testing.TB) string {
	tb.Helper()
	program := Peer(tb, "ibv_devinfo")
	out, err := exec.Command("ldd", program).Output()
	if err != nil {
		tb.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		if fields := strings.Fields(line); len(fields) > 2 && strings.HasPrefix(fields[0], "libibverbs.so") {
			// The library looks for drivers where it was built for, not where a
			// link to its directory is.
			library, err := filepath.EvalSymlinks(fields[2])
			if err != nil {
				tb.Fatal(err)
			}
			return library
		}
	}
	tb.Fatalf("%s runs without libibverbs: %s", program, out)
	return ""
}

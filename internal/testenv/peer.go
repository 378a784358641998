package testenv

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Peer returns the path of a program that the test runs, such as "ibsim" or
// "opensm". It looks in PATH, then where Debian keeps the programs of an
// administrator, which a user's PATH often lacks. Where the program is missing
// the test fails, or is skipped under `go test -short`.
func Peer(tb testing.TB, program string) string {
	tb.Helper()
	dirs := append(filepath.SplitList(os.Getenv("PATH")), "/usr/local/sbin", "/usr/sbin", "/sbin")
	path, err := find(program, dirs)
	if err == nil {
		return path
	}
	if testing.Short() {
		tb.Skipf("%v; skipped, as this is go test -short", err)
	}
	tb.Fatalf("%v; `make peers` installs it, `go test -short` goes without", err)
	return ""
}

// find looks for an executable in directories, of which relative ones are
// passed over as os/exec does.
func find(program string, dirs []string) (string, error) {
	for _, dir := range dirs {
		if !filepath.IsAbs(dir) {
			continue
		}
		if path, err := exec.LookPath(filepath.Join(dir, program)); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("peer %s is not in %s", program, strings.Join(dirs, " "))
}

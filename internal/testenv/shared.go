package testenv

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// Shared returns the path of a file or directory below the shared data, named
// by its elements: Shared(t, "data", "fabrics", "ibsim-net"). The shared data
// is the directory named by HEDDLE_SHARED, or else `shared` beside the
// module's root. Where the path does not exist, Shared logs what is missing
// and returns "", false. It fails the test where HEDDLE_SHARED names no
// directory.
func Shared(tb testing.TB, elem ...string) (string, bool) {
	tb.Helper()
	dir, err := sharedDir(os.Getenv("HEDDLE_SHARED"))
	if err != nil {
		tb.Fatal(err)
	}
	path := filepath.Join(append([]string{dir}, elem...)...)
	if _, err := os.Stat(path); err != nil {
		tb.Logf("no shared data here: %v", err)
		return "", false
	}
	return path, true
}

// sharedDir is the directory of the shared data, which exists if env names it.
func sharedDir(env string) (string, error) {
	if env != "" {
		if info, err := os.Stat(env); err != nil || !info.IsDir() {
			return "", fmt.Errorf("HEDDLE_SHARED=%s is no directory", env)
		}
		return env, nil
	}
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find the module's root: %w", err)
	}
	root, err := moduleRoot(dir)
	if err != nil {
		return "", err
	}
	return filepath.Join(filepath.Dir(root), "shared"), nil
}

// moduleRoot walks up from dir to the directory of go.mod.
func moduleRoot(dir string) (string, error) {
	for d := dir; ; d = filepath.Dir(d) {
		if _, err := os.Stat(filepath.Join(d, "go.mod")); err == nil {
			return d, nil
		}
		if d == filepath.Dir(d) {
			return "", fmt.Errorf("no go.mod above %s", dir)
		}
	}
}

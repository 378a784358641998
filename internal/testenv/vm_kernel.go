package testenv

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// vmKernel is a kernel that scripts/kernel unpacked.
type vmKernel struct {
	image   string // the file that boots
	modules string // the directory of its modules
}

// findKernel finds the kernel for virtual machines. Where it is missing the
// test fails, or is skipped under `go test -short`.
func findKernel(tb testing.TB) vmKernel {
	tb.Helper()
	cache, err := os.UserCacheDir()
	if err == nil {
		var k vmKernel
		if k, err = kernelIn(filepath.Join(cache, "heddle", "kernel")); err == nil {
			return k
		}
	}
	if testing.Short() {
		tb.Skipf("%v; skipped, as this is go test -short", err)
	}
	tb.Fatalf("%v; `make peers` unpacks it, `go test -short` goes without", err)
	return vmKernel{}
}

func kernelIn(dir string) (vmKernel, error) {
	images, err := filepath.Glob(filepath.Join(dir, "boot", "vmlinuz-*"))
	if err != nil || len(images) == 0 {
		return vmKernel{}, fmt.Errorf("no kernel for virtual machines in %s", dir)
	}
	image := slices.Max(images)
	version := strings.TrimPrefix(filepath.Base(image), "vmlinuz-")
	return vmKernel{image: image, modules: filepath.Join(dir, "lib", "modules", version)}, nil
}

// load lists the files of the named modules and of all that they depend on, in
// the order in which they are to be loaded.
func (k vmKernel) load(names []string) ([]string, error) {
	needs, err := k.dependencies()
	if err != nil {
		return nil, err
	}
	var order []string
	for _, name := range names {
		files, ok := needs[moduleName(name)]
		if !ok {
			return nil, fmt.Errorf("no kernel module %s in %s", name, k.modules)
		}
		for _, file := range slices.Backward(files) {
			if path := filepath.Join(k.modules, file); !slices.Contains(order, path) {
				order = append(order, path)
			}
		}
	}
	return order, nil
}

// dependencies reads modules.dep: for each module its file and, from the last
// to the first to be loaded, those of all that it depends on.
func (k vmKernel) dependencies() (map[string][]string, error) {
	f, err := os.Open(filepath.Join(k.modules, "modules.dep"))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	needs := make(map[string][]string)
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		file, rest, ok := strings.Cut(lines.Text(), ":")
		if !ok {
			return nil, fmt.Errorf("%s: %q is no line of modules.dep", f.Name(), lines.Text())
		}
		needs[moduleName(file)] = append([]string{file}, strings.Fields(rest)...)
	}
	return needs, lines.Err()
}

// moduleName is the name of a module as the kernel knows it.
func moduleName(file string) string {
	name, _, _ := strings.Cut(filepath.Base(file), ".ko")
	return strings.ReplaceAll(name, "-", "_")
}

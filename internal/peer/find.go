package peer

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// MissingError is of a program, or a library, that is not installed.
type MissingError struct {
	Name string
	// Package is Debian's that has it, "" where it is not known.
	Package string
	// Places are where it was looked for.
	Places []string
}

func (e *MissingError) Error() string {
	text := fmt.Sprintf("peer %s is not in %s", e.Name, strings.Join(e.Places, " "))
	if e.Package != "" {
		text += "; Debian's package " + e.Package + " has it"
	}
	return text
}

// packages are Debian's packages of programs.
var packages = map[string]string{
	"ibsim": "ibsim-utils", "opensm": "opensm", "ibv_devinfo": "ibverbs-utils", "tshark": "tshark", "qemu-system-x86_64": "qemu-system-x86",
	"ucx_perftest": "ucx-utils", "ucx_info": "ucx-utils",
	"ibnetdiscover": "infiniband-diags", "iblinkinfo": "infiniband-diags", "saquery": "infiniband-diags",
	"sminfo": "infiniband-diags", "smpquery": "infiniband-diags", "perfquery": "infiniband-diags",
	"ibroute": "infiniband-diags", "dump_lfts": "infiniband-diags", "dump_mfts": "infiniband-diags", "ibtracert": "infiniband-diags",
}

// Find returns the path of a program. It looks in PATH, then where Debian keeps
// the programs of an administrator, which a user's PATH often lacks. The error
// of one that is not there is a *MissingError.
func Find(program string) (string, error) {
	dirs := append(filepath.SplitList(os.Getenv("PATH")), "/usr/local/sbin", "/usr/sbin", "/sbin")
	for _, dir := range dirs {
		if !filepath.IsAbs(dir) {
			continue // as os/exec does
		}
		if path, err := exec.LookPath(filepath.Join(dir, program)); err == nil {
			return path, nil
		}
	}
	return "", &MissingError{Name: program, Package: packages[program], Places: dirs}
}

// FindPreload returns the path of the library that turns a program's use of
// umad devices into use of ibsim.
func FindPreload() (string, error) {
	patterns := []string{"/usr/lib/*/umad2sim/libumad2sim.so", "/usr/lib*/umad2sim/libumad2sim.so"}
	for _, pattern := range patterns {
		if found, err := filepath.Glob(pattern); err == nil && len(found) > 0 {
			return found[0], nil
		}
	}
	return "", &MissingError{Name: "libumad2sim.so", Package: "libumad2sim0", Places: patterns}
}

//go:build !linux

package umad

import (
	"fmt"
	"runtime"
)

// ListDevices fails: only Linux has umad devices.
func ListDevices() ([]LinuxPort, error) {
	return nil, fmt.Errorf("umad devices of %s: %w (Linux has them)", runtime.GOOS, ErrNoDevice)
}

// OpenLinux fails: only Linux has umad devices.
func OpenLinux(spec string) (Device, error) {
	return nil, fmt.Errorf("%s on %s: %w (Linux has them)", spec, runtime.GOOS, ErrNoDevice)
}

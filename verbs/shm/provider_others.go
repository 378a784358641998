//go:build !linux || !(amd64 || arm64)

package shm

import (
	"fmt"

	"heddle/verbs"
)

// Devices says that there are none.
func (Provider) Devices() ([]verbs.Device, error) {
	return nil, fmt.Errorf("devices of shared memory are there on Linux, amd64 and arm64: %w", verbs.ErrNotSupported)
}

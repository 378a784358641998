//go:build !linux

package verbs

import "fmt"

func newMemory(int, int) (*Memory, error) {
	return nil, fmt.Errorf("memory: %w", ErrNotSupported)
}

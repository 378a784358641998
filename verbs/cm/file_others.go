//go:build !linux

package cm

import (
	"context"
	"fmt"

	"heddle/verbs"
)

// file is there on Linux only.
type file struct{}

func openFile() (*file, error) {
	return nil, fmt.Errorf("rdma_cm: only on Linux: %w", verbs.ErrNoDevice)
}

func (*file) ask(command, []byte, int, func([]byte)) error { return verbs.ErrNoDevice }
func (*file) tell(command, []byte) error                   { return verbs.ErrNoDevice }
func (*file) create() (uint32, error)                      { return 0, verbs.ErrNoDevice }
func (*file) adopt(*file, uint32) error                    { return verbs.ErrNoDevice }
func (*file) next(context.Context) (*event, error)         { return nil, verbs.ErrNoDevice }
func (*file) close() error                                 { return nil }

//go:build !linux || !(amd64 || arm64)

package ibv

import (
	"fmt"

	"heddle/verbs"
)

// library is there on Linux only.
type library struct{}

func load(string) (*library, error) {
	return nil, fmt.Errorf("libibverbs: only on Linux of amd64 and arm64: %w", verbs.ErrNoDevice)
}

func (*library) devices() ([]verbs.Device, error) { return nil, verbs.ErrNoDevice }

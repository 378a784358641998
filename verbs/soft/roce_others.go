//go:build !linux || !(amd64 || arm64)

package soft

import (
	"fmt"
	"net/netip"

	"heddle/verbs"
)

func listen(a netip.Addr) (Link, error) {
	return nil, fmt.Errorf("RoCEv2 on %v: only on Linux: %w", a, verbs.ErrNotSupported)
}

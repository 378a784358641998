//go:build !linux

package bench

import "errors"

// keepAwake is there on Linux only.
func keepAwake() (stop func() error, err error) { return nil, errors.ErrUnsupported }

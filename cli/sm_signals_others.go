//go:build !unix

package cli

import "os"

// userSignals are not there on this system.
func userSignals() []os.Signal { return nil }

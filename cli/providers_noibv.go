//go:build noibv

package cli

import "heddle/verbs"

// providersOfLibraries are none: without cgo, the program is not linked with libc.
func providersOfLibraries() []verbs.Provider { return nil }

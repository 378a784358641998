//go:build !noibv

package cli

import (
	"heddle/verbs"
	"heddle/verbs/ibv"
)

// providersOfLibraries are those that need libc. The build tag noibv leaves them
// out.
func providersOfLibraries() []verbs.Provider { return []verbs.Provider{&ibv.Provider{}} }

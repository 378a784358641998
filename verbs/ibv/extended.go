//go:build linux && (amd64 || arm64)

package ibv

import "unsafe"

// Newer functions of libibverbs stand in verbs_context before ibv_context, which
// is its last field: it grows at the front, so that each is at a fixed distance
// from the context's pointer, backwards.
const (
	beforeRegDM         = 264
	beforeAllocDM       = 256
	beforeFreeDM        = 248
	beforeQueryDeviceEx = 104
	beforeCreateQPEx    = 56
	beforeSize          = 8 // how large the library's verbs_context is, with the context
)

// isExtended is abi_compat of a context that is the last field of a verbs_context.
const isExtended = ^uintptr(0)

// extended is the function that far before the context, or 0 where the library or
// the driver has none.
func (c *ibvContext) extended(before uintptr) uintptr {
	if c.ABI != isExtended {
		return 0
	}
	if size := c.before(beforeSize); size < before+unsafe.Sizeof(*c) {
		return 0
	}
	return c.before(before)
}

// before is the word that far before the context.
func (c *ibvContext) before(distance uintptr) uintptr {
	return *(*uintptr)(unsafe.Add(unsafe.Pointer(c), -int(distance)))
}

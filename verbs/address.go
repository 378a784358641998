package verbs

import "unsafe"

// addressOf is where bytes that do not move are.
func addressOf(b []byte) uint64 { return uint64(uintptr(unsafe.Pointer(unsafe.SliceData(b)))) }

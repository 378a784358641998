//go:build linux && (amd64 || arm64) && ibv_cgocall

package ibv

import "unsafe"

// enter is for toolchains that do not give runtime.asmcgocall away.
func enter(fn uintptr, arg unsafe.Pointer) int32 { return cgocall(fn, arg) }

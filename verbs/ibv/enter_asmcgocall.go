//go:build linux && (amd64 || arm64) && !ibv_cgocall

package ibv

import "unsafe"

// enter calls an assembly function on the system stack without a word to the
// scheduler: for functions that end within a microsecond. The build tag
// ibv_cgocall is for a toolchain that does not give runtime.asmcgocall away.
//
//go:linkname enter runtime.asmcgocall
//go:noescape
func enter(fn uintptr, arg unsafe.Pointer) int32

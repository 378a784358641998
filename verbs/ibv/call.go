//go:build linux && (amd64 || arm64)

package ibv

import (
	"runtime"
	"sync/atomic"
	"syscall"
	"unsafe"
)

// controlStub and dataStub are the addresses of the assembly's functions.
var controlStub, dataStub uintptr

// cgocall calls an assembly function on the system stack as the runtime calls
// C: the scheduler knows that it may block.
//
//go:linkname cgocall runtime.cgocall
//go:noescape
func cgocall(fn uintptr, arg unsafe.Pointer) int32

// controlCall is a call that may block.
type controlCall struct {
	fn, a1, a2, a3, a4, a5, a6 uintptr
	ret                        uintptr
	errnoLocation              uintptr
	errno                      uintptr
}

// invoke calls a function of the C library. Arguments that point to memory of
// Go are written uintptr(unsafe.Pointer(p)) in the call itself, which keeps
// that memory where it is.
//
//go:uintptrescapes
func invoke(lib *library, fn uintptr, args ...uintptr) (ret uintptr, errno syscall.Errno) {
	var a [6]uintptr
	copy(a[:], args)
	c := &controlCall{
		fn: fn, a1: a[0], a2: a[1], a3: a[2], a4: a[3], a5: a[4], a6: a[5],
		errnoLocation: lib.errnoLocation,
	}
	cgocall(controlStub, unsafe.Pointer(c))
	return c.ret, syscall.Errno(c.errno)
}

// object makes a pointer of what a function returned that makes objects; it
// fails where that is none.
func object[T any](ret uintptr, errno syscall.Errno) (*T, error) {
	if ret == 0 {
		return nil, errno
	}
	return *(**T)(unsafe.Pointer(&ret)), nil
}

// failure makes an error of what a function returned: 0, an error number, or -1
// with errno.
func failure(ret uintptr, errno syscall.Errno) error {
	switch code := int32(ret); {
	case code == 0:
		return nil
	case code > 0:
		return syscall.Errno(code)
	default:
		return errno
	}
}

// ptr is where an object of the C library is.
func ptr[T any](p *T) uintptr { return uintptr(unsafe.Pointer(p)) }

// gate lets the owner of a queue close it while another goroutine may be
// posting to it or polling it. The assembly enters and leaves it.
type gate struct {
	shut, busy uint32
	// fenced has who enters make a barrier: where the kernel makes none for us.
	fenced uint32
}

// newGate is an open gate.
func (l *library) newGate() gate {
	if l.barrier {
		return gate{}
	}
	return gate{fenced: 1}
}

// close waits until nobody is within, and lets nobody in any more.
func (g *gate) close() {
	atomic.StoreUint32(&g.shut, 1)
	if g.fenced == 0 {
		_ = membarrier(membarrierPrivate) // it was registered, so it does not fail
	}
	for atomic.LoadUint32(&g.busy) != 0 {
		runtime.Gosched()
	}
}

// The commands of membarrier(2).
const (
	membarrierPrivate  = 1 << 3
	membarrierRegister = 1 << 4
)

// membarrier has every thread of the process that runs make a full barrier.
func membarrier(command uintptr) error {
	if _, _, errno := syscall.Syscall(sysMembarrier, command, 0, 0); errno != 0 {
		return errno
	}
	return nil
}

// dataCall is a call of the data path. It is prepared once, for each queue.
type dataCall struct {
	fn, a1, a2, a3 uintptr
	ret            int64
	gate           *gate // nil for calls under a lock
	kernel         bool  // the function may enter the kernel
}

// shut is the result of a call to a queue that was closed.
const shut = 1 << 32

// run does the call, and gives what the function returned, or shut.
func (c *dataCall) run() int64 {
	if c.kernel {
		cgocall(dataStub, unsafe.Pointer(c))
	} else {
		enter(dataStub, unsafe.Pointer(c))
	}
	return c.ret
}

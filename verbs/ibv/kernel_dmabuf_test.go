//go:build linux && amd64

package ibv_test

import (
	"errors"
	"os"
	"syscall"
	"testing"
	"unsafe"

	"heddle/verbs"
)

// dmabufPages is how many pages the tests' dmabuf has.
const dmabufPages = 4

// dmabuf makes one by the DRM driver that is made of software, vgem: a buffer of
// memory (Linux, include/uapi/drm/drm_mode.h and drm.h).
func dmabuf(t *testing.T) *os.File {
	t.Helper()
	const createDumb, handleToFD = 0xc02064b2, 0xc00c642d
	card, err := os.OpenFile("/dev/dri/card0", os.O_RDWR, 0)
	mustDo(t, err)
	defer card.Close()
	buffer := struct {
		height, width, bitsPerPixel, flags, handle, pitch uint32
		size                                              uint64
	}{height: dmabufPages, width: uint32(os.Getpagesize()), bitsPerPixel: 8}
	ioctl(t, card, createDumb, unsafe.Pointer(&buffer))
	export := struct {
		handle, flags uint32
		fd            int32
	}{handle: buffer.handle, flags: syscall.O_CLOEXEC | syscall.O_RDWR}
	ioctl(t, card, handleToFD, unsafe.Pointer(&export))
	return os.NewFile(uintptr(export.fd), "vgem")
}

func ioctl(t *testing.T, file *os.File, request uintptr, arg unsafe.Pointer) {
	t.Helper()
	if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, file.Fd(), request, uintptr(arg)); errno != 0 {
		t.Fatalf("ioctl %#x of %s: %v", request, file.Name(), errno)
	}
}

// testDMABuf registers a dmabuf, which the device takes, and peers write to then,
// or refuses as what it cannot do.
func testDMABuf(t *testing.T, device string) {
	r := newRig(t, device)
	page := os.Getpagesize()
	file := dmabuf(t)
	mem, err := verbs.UseDMABuf(file, int64(page), 2*page)
	mustDo(t, err)
	r.later(file.Close, mem.Close)
	mr, err := r.pd.RegisterMR(mem, rigAccess)
	if errors.Is(err, verbs.ErrNotSupported) {
		t.Logf("refused: %v", err)
		return
	}
	mustDo(t, err)
	r.later(mr.Close)
	seen, err := syscall.Mmap(int(file.Fd()), 0, dmabufPages*page, syscall.PROT_READ, syscall.MAP_SHARED)
	mustDo(t, err)
	r.later(func() error { return syscall.Munmap(seen) })
	near, _ := r.pair(verbs.QPAttr{})
	copy(r.bytes(0, 5), "hello")
	wr := verbs.SendWR{Op: verbs.OpWrite, SGEs: []verbs.SGE{r.mr.SGE(0, 5)}, RemoteAddr: mr.Addr() + 64, RKey: mr.RKey()}
	if wc := r.do(near, &wr); wc.Err() != nil || string(seen[page+64:][:5]) != "hello" {
		t.Errorf("%v, %q", wc.Err(), seen[page+64:][:5])
	}
}

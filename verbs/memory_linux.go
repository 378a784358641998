package verbs

import (
	"errors"
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// newMemory maps a new file so many times, one after the other.
func newMemory(size, times int) (m *Memory, err error) {
	fd, err := unix.MemfdCreate("heddle", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, fmt.Errorf("memory: memfd_create: %w", err)
	}
	file := os.NewFile(uintptr(fd), "memfd:heddle")
	defer func() {
		if err != nil {
			err = errors.Join(err, file.Close())
		}
	}()
	if err := unix.Ftruncate(fd, int64(size)); err != nil {
		return nil, fmt.Errorf("memory of %d bytes: %w", size, err)
	}
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, unix.F_SEAL_SHRINK|unix.F_SEAL_GROW); err != nil {
		return nil, fmt.Errorf("memory: seals: %w", err)
	}
	bytes, err := mapTimes(fd, size, times)
	if err != nil {
		return nil, err
	}
	base, length := unsafe.Pointer(unsafe.SliceData(bytes)), uintptr(len(bytes))
	free := func() error { return unix.MunmapPtr(base, length) }
	return &Memory{bytes: bytes, size: size, file: file, free: free}, nil
}

// mapTimes reserves room for all mappings, and then maps the file over it.
func mapTimes(fd, size, times int) ([]byte, error) {
	base, err := unix.MmapPtr(-1, 0, nil, uintptr(size*times), unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		return nil, fmt.Errorf("memory of %d bytes: mmap: %w", size, err)
	}
	for i := range times {
		at := unsafe.Add(base, i*size)
		if _, err := unix.MmapPtr(fd, 0, at, uintptr(size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_FIXED); err != nil {
			return nil, errors.Join(fmt.Errorf("memory of %d bytes: mmap: %w", size, err), unix.MunmapPtr(base, uintptr(size*times)))
		}
	}
	return unsafe.Slice((*byte)(base), size*times), nil
}

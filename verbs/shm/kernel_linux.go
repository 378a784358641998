//go:build linux && (amd64 || arm64)

package shm

import (
	"errors"
	"fmt"
	"os"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"heddle/verbs"
)

// seals are what keeps a peer from taking pages away.
const seals = unix.F_SEAL_SHRINK | unix.F_SEAL_GROW

// newFile makes a file of that many bytes of zeroes, whose length is sealed.
func newFile(name string, size int) (file *os.File, err error) {
	fd, err := unix.MemfdCreate("heddle-"+name, unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, fmt.Errorf("memfd_create: %w", err)
	}
	file = os.NewFile(uintptr(fd), "memfd:heddle-"+name)
	if err := unix.Ftruncate(fd, int64(size)); err != nil {
		return nil, errors.Join(fmt.Errorf("%s of %d bytes: %w", name, size, err), file.Close())
	}
	if _, err := unix.FcntlInt(file.Fd(), unix.F_ADD_SEALS, seals); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: seals: %w", name, err), file.Close())
	}
	return file, nil
}

// checkFile refuses a file whose pages could go away, or are too few. Seals do
// not keep huge pages: where there is a hole, there may be none left for it.
func checkFile(file *os.File, size uint64) error {
	var system unix.Statfs_t
	if err := unix.Fstatfs(int(file.Fd()), &system); err != nil {
		return fmt.Errorf("fstatfs: %w", err)
	}
	if system.Type != unix.TMPFS_MAGIC {
		return fmt.Errorf("a file of the file system %#x, not of memory: %w", system.Type, verbs.ErrInvalid)
	}
	got, err := unix.FcntlInt(file.Fd(), unix.F_GET_SEALS, 0)
	if err != nil {
		return fmt.Errorf("not a file that can be sealed: %w", err)
	}
	if got&seals != seals {
		return fmt.Errorf("not sealed against a change of its length: %w", verbs.ErrInvalid)
	}
	var stat unix.Stat_t
	if err := unix.Fstat(int(file.Fd()), &stat); err != nil {
		return fmt.Errorf("fstat: %w", err)
	}
	if stat.Size < 0 || uint64(stat.Size) < size {
		return fmt.Errorf("%d bytes, not %d: %w", stat.Size, size, verbs.ErrInvalid)
	}
	return nil
}

// readOnly opens a file again, so that who is given that cannot write to it.
// Other users cannot make it writable either.
func readOnly(file *os.File) (*os.File, error) {
	if err := file.Chmod(0o600); err != nil {
		return nil, fmt.Errorf("a file to be read: %w", err)
	}
	return again(file, func(fd int) (int, error) {
		return unix.Open(fmt.Sprintf("/proc/self/fd/%d", fd), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	})
}

// duplicate is another descriptor of a file.
func duplicate(file *os.File) (*os.File, error) {
	return again(file, func(fd int) (int, error) { return unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0) })
}

// again opens a file once more, which its owner may close meanwhile: its number
// stays that of the file as long as open runs.
func again(file *os.File, open func(fd int) (int, error)) (*os.File, error) {
	raw, err := file.SyscallConn()
	if err != nil {
		return nil, fmt.Errorf("a descriptor of a shared file: %w", err)
	}
	fd, failed := -1, error(nil)
	if err := raw.Control(func(number uintptr) { fd, failed = open(int(number)) }); err != nil || failed != nil {
		return nil, fmt.Errorf("a descriptor of a shared file: %w", errors.Join(err, failed))
	}
	return os.NewFile(uintptr(fd), file.Name()), nil
}

// sealWrites allows no new writable mapping of a file, by nobody.
func sealWrites(file *os.File) error {
	_, err := unix.FcntlInt(file.Fd(), unix.F_ADD_SEALS, unix.F_SEAL_FUTURE_WRITE|unix.F_SEAL_SEAL)
	return err
}

// mapping is pages of a file, once or several times one after the other.
type mapping struct {
	bytes  []byte
	base   unsafe.Pointer
	length uintptr
}

// mapFile maps size bytes from offset on. More than once, both have to be whole
// pages.
func mapFile(file *os.File, offset uint64, size, times int, write bool) (*mapping, error) {
	skip := int(offset % uint64(os.Getpagesize()))
	length := uintptr(size+skip) * uintptr(times)
	base, err := unix.MmapPtr(-1, 0, nil, length, unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		return nil, fmt.Errorf("mmap of %d bytes: %w", length, err)
	}
	m := &mapping{base: base, length: length, bytes: unsafe.Slice((*byte)(unsafe.Add(base, skip)), size*times)}
	prot := unix.PROT_READ
	if write {
		prot |= unix.PROT_WRITE
	}
	for i := range times {
		at := unsafe.Add(base, i*size)
		_, err := unix.MmapPtr(int(file.Fd()), int64(offset)-int64(skip), at, uintptr(size+skip), prot, unix.MAP_SHARED|unix.MAP_FIXED)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("mmap of %d bytes: %w", size, err), m.Close())
		}
	}
	return m, nil
}

// Close gives the pages back.
func (m *mapping) Close() error {
	if m == nil || m.base == nil {
		return nil
	}
	base := m.base
	m.base, m.bytes = nil, nil
	return unix.MunmapPtr(base, m.length)
}

// futexWait sleeps while a word is as given, but not longer than that. It may
// return without a reason.
func futexWait(word *uint32, value uint32, longest time.Duration) {
	timeout := unix.NsecToTimespec(int64(longest))
	// The word may be in memory that other processes map: not FUTEX_PRIVATE.
	_, _, _ = unix.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(word)), futexOpWait, uintptr(value), uintptr(unsafe.Pointer(&timeout)), 0, 0)
}

// futexWake wakes all that sleep on a word.
func futexWake(word *uint32) {
	_, _, _ = unix.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(word)), futexOpWake, 1<<30, 0, 0, 0)
}

const (
	futexOpWait = 0
	futexOpWake = 1
)

// sendNow writes a message to a socket, or none of it.
func sendNow(fd int, b, oob []byte) error {
	_, err := unix.SendmsgN(fd, b, oob, nil, unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL)
	if errors.Is(err, unix.EAGAIN) {
		return errFull
	}
	return os.NewSyscallError("sendmsg", err)
}

// busy tells whether a socket lets nobody in for the moment.
func busy(err error) bool { return errors.Is(err, unix.EAGAIN) }

// rights are the descriptors as a message of a Unix socket carries them.
func rights(files []*os.File) []byte {
	if len(files) == 0 {
		return nil
	}
	fds := make([]int, len(files))
	for i, f := range files {
		fds[i] = int(f.Fd())
	}
	return unix.UnixRights(fds...)
}

// oobSize is the room for them.
var oobSize = unix.CmsgSpace(4 * maxFiles)

// filesOf takes descriptors out of such a message.
func filesOf(oob []byte) (files []*os.File, err error) {
	messages, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		return nil, fmt.Errorf("control message: %w", err)
	}
	for i := range messages {
		fds, err := unix.ParseUnixRights(&messages[i])
		if err != nil {
			return files, fmt.Errorf("control message: %w", err)
		}
		for _, fd := range fds {
			files = append(files, os.NewFile(uintptr(fd), "memfd:peer"))
		}
	}
	return files, nil
}

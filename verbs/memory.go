package verbs

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
)

// Memory is pages outside the Go heap, which neither move nor go away before
// Close; or memory that the CPU does not see, of a device or behind a dmabuf,
// which Bytes gives nothing of. All methods may be called by any goroutine; what
// is in the memory, its users agree upon among themselves.
type Memory struct {
	bytes  []byte
	file   *os.File // that the pages are of; nil for the caller's own without one
	offset int64    // of the pages in file
	size   int      // without what is mapped twice
	free   func() error

	storage Storage // of a device, which is in place of all but the size
	dmabuf  bool    // file is one, and bytes are none

	once   sync.Once
	closed error
}

// NewMemory gives at least size bytes of zeroes, whole pages of them. They are
// of a file without a name that other processes can be given (memfd), sealed
// against a change of its length.
func NewMemory(size int) (*Memory, error) {
	if size <= 0 {
		return nil, fmt.Errorf("memory of %d bytes: %w", size, ErrInvalid)
	}
	return newMemory(pages(size), 1)
}

// NewRing is memory whose bytes come twice, one after the other: what is written
// at i is also at i+Size, so that no message in a ring has to be cut in two at
// its end. Bytes has twice the Size, which is size rounded up to whole pages.
func NewRing(size int) (*Memory, error) {
	if size <= 0 {
		return nil, fmt.Errorf("ring of %d bytes: %w", size, ErrInvalid)
	}
	return newMemory(pages(size), 2)
}

// UseMemory takes memory that the caller has mapped, and keeps until Close is
// called. It must not be of the Go heap or a stack. Where file is not nil, it is
// what the memory is of, from offset on, and devices that share memory between
// processes give it to others.
func UseMemory(bytes []byte, file *os.File, offset int64) (*Memory, error) {
	if len(bytes) == 0 {
		return nil, fmt.Errorf("memory without bytes: %w", ErrInvalid)
	}
	return &Memory{bytes: bytes, size: len(bytes), file: file, offset: offset}, nil
}

// Storage is memory that lies in a device. Its Close is idempotent, and ErrBusy
// as long as an MR is of it.
type Storage interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
}

// NewDeviceMemory is for providers: memory of a device of theirs. RegisterMR
// knows it again by its Storage.
func NewDeviceMemory(size int, in Storage) *Memory { return &Memory{size: size, storage: in} }

// UseDMABuf takes memory that another driver exports, such as a GPU's: size bytes
// of a dmabuf from offset on. Close leaves the file open. A device that does not
// take it refuses to register it with ErrNotSupported; one that does calls its
// first byte by the address offset.
func UseDMABuf(file *os.File, offset int64, size int) (*Memory, error) {
	if file == nil || offset < 0 || size <= 0 {
		return nil, fmt.Errorf("dmabuf: %d bytes from %d: %w", size, offset, ErrInvalid)
	}
	return &Memory{size: size, file: file, offset: offset, dmabuf: true}, nil
}

// Bytes is all of the memory, with what is mapped twice; nil where the CPU does
// not see it.
func (m *Memory) Bytes() []byte { return m.bytes }

// Storage is where memory of a device lies; nil of all other.
func (m *Memory) Storage() Storage { return m.storage }

// DMABuf is the dmabuf that memory is of, from an offset on; nil of all other.
func (m *Memory) DMABuf() (file *os.File, offset int64) {
	if !m.dmabuf {
		return nil, 0
	}
	return m.file, m.offset
}

// ReadAt implements io.ReaderAt for what the CPU or the device can copy; of a
// dmabuf the error wraps ErrNotSupported.
func (m *Memory) ReadAt(p []byte, off int64) (int, error) {
	switch err := m.within(off, len(p)); {
	case err != nil:
		return 0, err
	case m.storage != nil:
		return m.storage.ReadAt(p, off)
	default:
		return copy(p, m.bytes[off:]), nil
	}
}

// WriteAt implements io.WriterAt as ReadAt does io.ReaderAt.
func (m *Memory) WriteAt(p []byte, off int64) (int, error) {
	switch err := m.within(off, len(p)); {
	case err != nil:
		return 0, err
	case m.storage != nil:
		return m.storage.WriteAt(p, off)
	default:
		return copy(m.bytes[off:], p), nil
	}
}

// within tells what is wrong with a copy of n bytes from an offset on.
func (m *Memory) within(off int64, n int) error {
	switch {
	case m.dmabuf:
		return fmt.Errorf("copy of a dmabuf: %w", ErrNotSupported)
	case off < 0 || n > m.size || off > int64(m.size-n):
		return fmt.Errorf("copy of %d bytes at %d of %d: %w", n, off, m.size, ErrInvalid)
	}
	return nil
}

// Size is the number of bytes, each counted once.
func (m *Memory) Size() int { return m.size }

// File is what the memory is of, from an offset on; nil where it is of none, or
// of a dmabuf.
func (m *Memory) File() (file *os.File, offset int64) {
	if m.dmabuf {
		return nil, 0
	}
	return m.file, m.offset
}

// Addr is where the memory is; 0 where the CPU does not see it.
func (m *Memory) Addr() uint64 { return addressOf(m.bytes) }

// Close gives the memory back. No MR may be of it any more, and nobody may look
// at Bytes again.
func (m *Memory) Close() error {
	if m.storage != nil {
		return m.storage.Close()
	}
	m.once.Do(func() {
		if m.free != nil {
			m.closed = m.free()
		}
		if m.file != nil && m.free != nil {
			m.closed = errors.Join(m.closed, m.file.Close())
		}
	})
	return m.closed
}

var _ io.Closer = (*Memory)(nil)

// pages rounds up to whole pages.
func pages(size int) int {
	page := os.Getpagesize()
	return (size + page - 1) / page * page
}

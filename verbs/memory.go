package verbs

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
)

// Memory is pages outside the Go heap, which neither move nor go away before
// Close. All methods may be called by any goroutine; what is in the memory, its
// users agree upon among themselves.
type Memory struct {
	bytes  []byte
	file   *os.File // that the pages are of; nil for the caller's own without one
	offset int64    // of the pages in file
	size   int      // without what is mapped twice
	free   func() error

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

// Bytes is all of the memory, with what is mapped twice.
func (m *Memory) Bytes() []byte { return m.bytes }

// Size is the number of bytes, each counted once.
func (m *Memory) Size() int { return m.size }

// File is what the memory is of, from an offset on; nil where it is of none.
func (m *Memory) File() (file *os.File, offset int64) { return m.file, m.offset }

// Addr is where the memory is.
func (m *Memory) Addr() uint64 { return addressOf(m.bytes) }

// Close gives the pages back. No MR may be of them any more, and nobody may look
// at Bytes again.
func (m *Memory) Close() error {
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

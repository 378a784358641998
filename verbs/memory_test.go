package verbs_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"testing"

	"heddle/verbs"
)

func TestRingIsMappedTwice(t *testing.T) {
	m, err := verbs.NewRing(5000)
	if err != nil {
		t.Fatal(err)
	}
	if m.Size() != 8192 || len(m.Bytes()) != 16384 {
		t.Fatalf("%d bytes, %d mapped", m.Size(), len(m.Bytes()))
	}
	copy(m.Bytes()[8190:], "over the end")
	if got := m.Bytes()[:10]; !bytes.Equal(got, []byte("er the end")) {
		t.Errorf("the begin has %q", got)
	}
	if err := errors.Join(m.Close(), m.Close()); err != nil {
		t.Error(err)
	}
}

// TestMemoryIsSealed: whoever is given the file cannot take pages away.
func TestMemoryIsSealed(t *testing.T) {
	m, err := verbs.NewMemory(1)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close() //nolint:errcheck // of a test
	file, offset := m.File()
	if offset != 0 || m.Size() != os.Getpagesize() {
		t.Errorf("%d bytes from %d", m.Size(), offset)
	}
	for _, size := range []int64{0, 1 << 20} {
		if err := file.Truncate(size); !errors.Is(err, os.ErrPermission) {
			t.Errorf("truncated to %d bytes: %v", size, err)
		}
	}
}

// TestCopies: what WriteAt writes ReadAt reads, within bounds.
func TestCopies(t *testing.T) {
	m, err := verbs.NewMemory(4096)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close() //nolint:errcheck // of a test
	if n, err := m.WriteAt([]byte("hello"), 4091); n != 5 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	b := make([]byte, 5)
	if n, err := m.ReadAt(b, 4091); n != 5 || err != nil || string(b) != "hello" || string(m.Bytes()[4091:]) != "hello" {
		t.Errorf("%d, %v, %q", n, err, b)
	}
	for _, off := range []int64{-1, 4092, 1 << 62} {
		if _, err := m.ReadAt(b, off); !errors.Is(err, verbs.ErrInvalid) {
			t.Errorf("read at %d: %v", off, err)
		}
		if _, err := m.WriteAt(b, off); !errors.Is(err, verbs.ErrInvalid) {
			t.Errorf("write at %d: %v", off, err)
		}
	}
}

// storage is a device's memory that only tells of its end.
type storage struct {
	io.ReaderAt
	io.WriterAt
	closed int
}

func (s *storage) Close() error {
	s.closed++
	if s.closed == 1 {
		return verbs.ErrBusy
	}
	return nil
}

// TestDeviceMemory: there are no bytes, and Close may have to be tried again.
func TestDeviceMemory(t *testing.T) {
	in := &storage{}
	m := verbs.NewDeviceMemory(100, in)
	if file, _ := m.File(); m.Bytes() != nil || m.Addr() != 0 || m.Size() != 100 || m.Storage() != in || file != nil {
		t.Errorf("%+v", m)
	}
	if _, err := m.ReadAt(make([]byte, 8), 93); !errors.Is(err, verbs.ErrInvalid) {
		t.Errorf("over the end: %v", err)
	}
	if err := m.Close(); !errors.Is(err, verbs.ErrBusy) {
		t.Error(err)
	}
	if err := m.Close(); err != nil {
		t.Error(err)
	}
}

// TestDMABuf: it is nothing but a file for devices that know what to do with it.
func TestDMABuf(t *testing.T) {
	file := os.NewFile(99, "dmabuf")
	m, err := verbs.UseDMABuf(file, 4096, 8192)
	if err != nil {
		t.Fatal(err)
	}
	of, offset := m.DMABuf()
	if shared, _ := m.File(); of != file || offset != 4096 || shared != nil || m.Bytes() != nil || m.Size() != 8192 {
		t.Errorf("%+v", m)
	}
	if _, err := m.ReadAt(nil, 0); !errors.Is(err, verbs.ErrNotSupported) {
		t.Errorf("read: %v", err)
	}
	for _, size := range []int{0, -1} {
		if _, err := verbs.UseDMABuf(file, 0, size); !errors.Is(err, verbs.ErrInvalid) {
			t.Errorf("size %d: %v", size, err)
		}
	}
	if _, err := verbs.UseDMABuf(nil, 0, 1); !errors.Is(err, verbs.ErrInvalid) {
		t.Errorf("no file: %v", err)
	}
}

func TestUseMemory(t *testing.T) {
	if _, err := verbs.UseMemory(nil, nil, 0); !errors.Is(err, verbs.ErrInvalid) {
		t.Errorf("no bytes: %v", err)
	}
	if _, err := verbs.NewMemory(0); !errors.Is(err, verbs.ErrInvalid) {
		t.Errorf("no size: %v", err)
	}
	m, err := verbs.NewMemory(4096)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close() //nolint:errcheck // of a test
	file, _ := m.File()
	part, err := verbs.UseMemory(m.Bytes()[64:128], file, 64)
	if err != nil || part.Addr() != m.Addr()+64 || part.Size() != 64 {
		t.Errorf("%+v, %v", part, err)
	}
	if err := part.Close(); err != nil {
		t.Error(err)
	}
	m.Bytes()[64] = 1 // it is still there
}

package verbs_test

import (
	"bytes"
	"errors"
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

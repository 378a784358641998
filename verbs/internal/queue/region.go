package queue

import (
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"sync"
	"sync/atomic"

	"heddle/verbs"
)

// Region is memory that is registered with a protection domain.
type Region struct {
	Mem    *verbs.Memory
	Access verbs.Access
	PD     uint32
	Key    uint32 // local and remote
	// Window is a memory window's, of use to peers only: of the QP of that number,
	// or where it is 0 of all of the protection domain.
	Window bool
	QPN    uint32
	base   uint64
	bytes  []byte
}

// Addr is how requests call the first byte.
func (r *Region) Addr() uint64 { return r.base }

// Len is the number of bytes.
func (r *Region) Len() int { return len(r.bytes) }

// part is n bytes from an address on; ok is false where they are not all in the
// region, whatever overflows.
func (r *Region) part(addr uint64, n int) ([]byte, bool) {
	off := addr - r.base
	if addr < r.base || n < 0 || off > uint64(len(r.bytes)) || uint64(n) > uint64(len(r.bytes))-off {
		return nil, false
	}
	return r.bytes[off : off+uint64(n)], true
}

// maxRegions is how many regions a table has at most: the key's lower half.
const maxRegions = 1 << 16

// Regions are the regions of a device. Look-ups take no lock and may be made
// beside changes.
type Regions struct {
	list atomic.Pointer[[]atomic.Pointer[Region]]
	mu   sync.Mutex
	free []uint16 // guarded by mu, as changes of list
}

// Register adds memory. Its key says nothing to who guesses keys.
func (t *Regions) Register(mem *verbs.Memory, access verbs.Access, pd uint32) (*Region, error) {
	if mem.Bytes() == nil {
		return nil, fmt.Errorf("register memory: it is of another device, or of a dmabuf: %w", verbs.ErrNotSupported)
	}
	return t.RegisterAs(mem, mem.Addr(), mem.Bytes(), access, pd)
}

// RegisterAs adds memory that lies elsewhere than its Bytes, from an address on.
func (t *Regions) RegisterAs(mem *verbs.Memory, base uint64, bytes []byte, access verbs.Access, pd uint32) (*Region, error) {
	if !access.Valid() {
		return nil, fmt.Errorf("register memory: remote writes and atomics need LocalWrite: %w", verbs.ErrInvalid)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	i, err := t.slot()
	if err != nil {
		return nil, err
	}
	r := &Region{Mem: mem, Access: access, PD: pd, Key: secret()<<16 | uint32(i), base: base, bytes: bytes}
	(*t.list.Load())[i].Store(r)
	return r, nil
}

// secret is the upper half of a key.
func secret() uint32 {
	var b [2]byte
	rand.Read(b[:])
	return uint32(binary.NativeEndian.Uint16(b[:]))
}

// slot finds room for a region; mu is held.
func (t *Regions) slot() (uint16, error) {
	if n := len(t.free); n > 0 {
		i := t.free[n-1]
		t.free = t.free[:n-1]
		return i, nil
	}
	var old []atomic.Pointer[Region]
	if p := t.list.Load(); p != nil {
		old = *p
	}
	n := len(old)
	if n == maxRegions {
		return 0, fmt.Errorf("register memory: %d regions already: %w", n, verbs.ErrInvalid)
	}
	list := make([]atomic.Pointer[Region], max(16, 2*n))
	for i := range old {
		list[i].Store(old[i].Load())
	}
	t.list.Store(&list)
	for i := len(list) - 1; i > n; i-- {
		t.free = append(t.free, uint16(i))
	}
	return uint16(n), nil
}

// Remove takes a region out: no request finds it any more.
func (t *Regions) Remove(r *Region) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if slot := t.at(r.Key); slot != nil && slot.CompareAndSwap(r, nil) {
		t.free = append(t.free, uint16(r.Key))
	}
}

func (t *Regions) at(key uint32) *atomic.Pointer[Region] {
	p := t.list.Load()
	if i := int(key & 0xffff); p != nil && i < len(*p) {
		return &(*p)[i]
	}
	return nil
}

// Find is the region of a key, nil for none.
func (t *Regions) Find(key uint32) *Region {
	if slot := t.at(key); slot != nil {
		if r := slot.Load(); r != nil && r.Key == key {
			return r
		}
	}
	return nil
}

// Local is the memory of an SGE; need is 0 to read it, LocalWrite to write it.
// The status is that of a request which fails for it. An empty SGE needs no
// region (case V6).
func (t *Regions) Local(pd uint32, s verbs.SGE, need verbs.Access) ([]byte, verbs.Status) {
	if s.Length == 0 {
		return nil, verbs.StatusOK
	}
	r := t.Find(s.LKey)
	if r == nil || r.Window || r.PD != pd || r.Access&need != need {
		return nil, verbs.StatusLocalProtection
	}
	b, ok := r.part(s.Addr, int(s.Length))
	if !ok {
		return nil, verbs.StatusLocalProtection
	}
	return b, verbs.StatusOK
}

// Remote is the memory that the request of a peer of a QP names. Of no bytes,
// neither key nor address is looked at (case V6).
func (t *Regions) Remote(pd, qpn, rkey uint32, addr uint64, n int, need verbs.Access) ([]byte, verbs.Status) {
	if n == 0 {
		return nil, verbs.StatusOK
	}
	r := t.Find(rkey)
	if r == nil || r.PD != pd || r.Access&need != need || r.QPN != 0 && r.QPN != qpn {
		return nil, verbs.StatusRemoteAccess
	}
	b, ok := r.part(addr, n)
	if !ok {
		return nil, verbs.StatusRemoteAccess
	}
	return b, verbs.StatusOK
}

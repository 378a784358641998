package queue

import (
	"fmt"

	"heddle/verbs"
)

// Window keeps a place for the key of a memory window: a region that lets nobody
// in, until Put has a part of an MR there.
func (t *Regions) Window(pd uint32) (*Region, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	i, err := t.slot()
	if err != nil {
		return nil, fmt.Errorf("allocate window: %w", err)
	}
	r := &Region{PD: pd, Key: secret()<<16 | uint32(i), Window: true}
	(*t.list.Load())[i].Store(r)
	return r, nil
}

// Renew is another key of the same place.
func Renew(key uint32) uint32 {
	for {
		if s := secret(); s != key>>16 {
			return s<<16 | key&0xffff
		}
	}
}

// Part is what a window under a key shows of a region, to peers of a QP or, where
// that is 0, of the protection domain. It is nil where it would not be all in the
// region.
func (r *Region) Part(addr uint64, n int, access verbs.Access, key, qpn uint32) *Region {
	bytes, ok := r.part(addr, n)
	if !ok {
		return nil
	}
	access |= r.Access & verbs.RelaxedOrder
	return &Region{Mem: r.Mem, Access: access, PD: r.PD, Key: key, Window: true, QPN: qpn, base: addr, bytes: bytes}
}

// Closed is a window under a key that lets nobody in.
func (r *Region) Closed(key uint32) *Region { return &Region{PD: r.PD, Key: key, Window: true} }

// Put has a region take the place of another one, whose key has the same place.
func (t *Regions) Put(old, r *Region) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if slot := t.at(old.Key); slot != nil {
		slot.CompareAndSwap(old, r)
	}
}

package channel

import (
	"errors"
	"fmt"

	"heddle/verbs"
)

// region is registered memory of an end.
type region struct {
	mem *verbs.Memory
	mr  verbs.MR
	b   []byte // of a ring it has the ring twice
	own bool
}

// newRegion makes memory of whole pages; a ring has its bytes twice.
func (e *end) newRegion(size int, ring bool, access verbs.Access) (*region, error) {
	alloc := verbs.NewMemory
	if ring {
		alloc = verbs.NewRing
	}
	mem, err := alloc(size)
	if err != nil {
		return nil, err
	}
	r, err := e.register(mem, access)
	if err != nil {
		return nil, errors.Join(err, mem.Close())
	}
	r.own = true
	return r, nil
}

// register registers memory that is the caller's.
func (e *end) register(mem *verbs.Memory, access verbs.Access) (*region, error) {
	mr, err := e.t.pd.RegisterMR(mem, access)
	if err != nil {
		return nil, err
	}
	e.registered += mem.Size()
	return &region{mem: mem, mr: mr, b: mem.Bytes()}, nil
}

// newSlots makes memory of slots, so many bytes in all, or takes what the caller
// configured.
func (e *end) newSlots(size int, access verbs.Access) (*region, error) {
	mem := e.cfg.Memory
	switch {
	case mem == nil:
		return e.newRegion(size, false, access)
	case len(mem.Bytes()) < size:
		return nil, fmt.Errorf("memory of %d bytes for slots of %d: %w", len(mem.Bytes()), size, ErrInvalid)
	case mem.Addr()%8 != 0:
		return nil, fmt.Errorf("memory at an address that is no multiple of 8: %w", ErrInvalid)
	}
	return e.register(mem, access)
}

// remote is the region as a peer has to know it; of nil it is nothing.
func (r *region) remote() remote {
	if r == nil {
		return remote{}
	}
	return remote{r.mr.Addr(), uint64(len(r.b)), r.mr.RKey()}
}

// free gives it back; of nil it does nothing.
func (r *region) free() error {
	if r == nil {
		return nil
	}
	err := r.mr.Close()
	if r.own {
		err = errors.Join(err, r.mem.Close())
	}
	return err
}

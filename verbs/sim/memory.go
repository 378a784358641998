package sim

import (
	"fmt"

	"heddle/verbs"
	"heddle/verbs/internal/queue"
)

// storage is memory of a device: pages of the host that only the device tells of.
type storage struct {
	pd    *pd
	pages *verbs.Memory
	size  int

	mrs    int // guarded by net.mu, as closed
	closed bool
}

// AllocDM implements verbs.DeviceMemoryAllocator.
func (p *pd) AllocDM(size int) (*verbs.Memory, error) {
	p.ctx.net.enter()
	defer p.ctx.net.leave()
	if err := p.usable(); err != nil {
		return nil, fmt.Errorf("allocate device memory: %w", err)
	}
	d, most := p.ctx.dev, p.ctx.net.cfg.Profile.DeviceMemory
	refuse := func(err error) (*verbs.Memory, error) {
		return nil, &verbs.OpError{Verb: "allocate device memory", Device: d.name, Got: size, Limit: most - d.memory, Err: err}
	}
	switch {
	case most == 0:
		return refuse(verbs.ErrNotSupported)
	case size <= 0 || size > most-d.memory:
		return refuse(verbs.ErrInvalid)
	}
	pages, err := verbs.NewMemory(size)
	if err != nil {
		return refuse(err)
	}
	p.made++
	d.memory += size
	return verbs.NewDeviceMemory(size, &storage{pd: p, pages: pages, size: size}), nil
}

// register makes a region of it, whose addresses begin with 0.
func (s *storage) register(p *pd, mem *verbs.Memory, access verbs.Access) (*queue.Region, error) {
	if s.closed || s.pd.ctx.dev != p.ctx.dev {
		return nil, fmt.Errorf("register memory of another device, or closed: %w", verbs.ErrInvalid)
	}
	r, err := p.ctx.dev.regions.RegisterAs(mem, 0, s.pages.Bytes()[:s.size], access, p.number)
	if err == nil {
		s.mrs++
	}
	return r, err
}

// copy has f copy from or to the memory, which others use meanwhile.
func (s *storage) copy(off int64, n int, f func(at []byte)) (int, error) {
	s.pd.ctx.net.enter()
	defer s.pd.ctx.net.leave()
	if s.closed {
		return 0, verbs.ErrClosed
	}
	f(s.pages.Bytes()[off : off+int64(n)])
	return n, nil
}

// ReadAt implements io.ReaderAt.
func (s *storage) ReadAt(p []byte, off int64) (int, error) {
	return s.copy(off, len(p), func(at []byte) { load(p, at) })
}

// WriteAt implements io.WriterAt.
func (s *storage) WriteAt(p []byte, off int64) (int, error) {
	return s.copy(off, len(p), func(at []byte) { store(at, p) })
}

// Close implements io.Closer.
func (s *storage) Close() error {
	s.pd.ctx.net.enter()
	defer s.pd.ctx.net.leave()
	if s.closed {
		return nil
	}
	if s.mrs > 0 {
		return fmt.Errorf("free device memory: %d MRs are of it: %w", s.mrs, verbs.ErrBusy)
	}
	s.closed = true
	s.pd.made--
	s.pd.ctx.dev.memory -= s.size
	return s.pages.Close()
}

var (
	_ verbs.DeviceMemoryAllocator = (*pd)(nil)
	_ verbs.Storage               = (*storage)(nil)
)

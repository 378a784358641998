//go:build linux && (amd64 || arm64)

package ibv

import (
	"errors"
	"sync/atomic"
	"syscall"
	"unsafe"

	"heddle/verbs"
)

// pd is a protection domain.
type pd struct {
	ctx  *deviceContext
	c    *ibvPD
	life life
}

var (
	_ verbs.PD              = (*pd)(nil)
	_ verbs.WindowAllocator = (*pd)(nil)
)

// Close gives the protection domain back.
func (p *pd) Close() error {
	return p.ctx.destroy("deallocate PD", &p.ctx.life, &p.life, p.ctx.lib.deallocPD, ptr(p.c))
}

// destroy closes an object that is neither in use nor anybody's parent.
func (c *deviceContext) destroy(verb string, parent, l *life, fn, at uintptr) error {
	done, err := l.end()
	if !done {
		return c.failed(verb, err)
	}
	defer parent.release()
	return c.failed(verb, failure(invoke(c.lib, fn, at)))
}

// mr is memory that the device may use.
type mr struct {
	pd   *pd
	c    *ibvMR
	mem  *verbs.Memory
	life life
	lkey uint32
	rkey uint32
}

// RegisterMR pins the memory and lets the device use it.
func (p *pd) RegisterMR(mem *verbs.Memory, access verbs.Access) (verbs.MR, error) {
	if !access.Valid() {
		return nil, &verbs.OpError{Verb: "register MR: remote writes and atomics need local ones", Device: p.ctx.name, Err: verbs.ErrInvalid}
	}
	m := &mr{pd: p, mem: mem}
	err := p.life.adopt(func() (err error) {
		m.c, err = p.register(mem.Addr(), len(mem.Bytes()), accessFlags(access))
		return err
	})
	if errors.Is(err, syscall.ENOMEM) {
		var limit syscall.Rlimit
		if syscall.Getrlimit(rlimitMemlock, &limit) == nil && limit.Cur != rlimInfinity {
			return nil, &verbs.MemlockError{Need: uint64(len(mem.Bytes())), Limit: limit.Cur, Err: err}
		}
	}
	if err != nil {
		return nil, p.ctx.failed("register MR", err)
	}
	m.lkey, m.rkey = m.c.LKey, m.c.RKey
	return m, nil
}

const (
	rlimitMemlock = 8 // getrlimit(2); the package syscall has no name for it
	rlimInfinity  = 1<<64 - 1
)

func (p *pd) register(addr uint64, length int, flags uint32) (m *ibvMR, err error) {
	lib := p.ctx.lib
	if flags&accessRelaxed != 0 {
		// This one leaves out what the kernel does not know.
		m, err = object[ibvMR](invoke(lib, lib.regMRIova2, ptr(p.c), uintptr(addr), uintptr(length), uintptr(addr), uintptr(flags)))
	} else {
		m, err = object[ibvMR](invoke(lib, lib.regMR, ptr(p.c), uintptr(addr), uintptr(length), uintptr(flags)))
	}
	if err != nil {
		return nil, err
	}
	return m, consistent(m.Context == p.ctx.c && m.PD == p.c && m.Addr == uintptr(addr) && m.Length == uintptr(length), "ibv_mr")
}

func (m *mr) Memory() *verbs.Memory { return m.mem }
func (m *mr) Addr() uint64          { return m.mem.Addr() }
func (m *mr) Len() int              { return len(m.mem.Bytes()) }
func (m *mr) LKey() uint32          { return m.lkey }
func (m *mr) RKey() uint32          { return m.rkey }

func (m *mr) SGE(offset, n int) verbs.SGE {
	return verbs.SGE{Addr: m.mem.Addr() + uint64(offset), Length: uint32(n), LKey: m.lkey}
}

// Close takes the memory away from the device.
func (m *mr) Close() error {
	return m.pd.ctx.destroy("deregister MR", &m.pd.life, &m.life, m.pd.ctx.lib.deregMR, ptr(m.c))
}

// mw is a memory window of type 2.
type mw struct {
	pd   *pd
	c    *ibvMW
	life life
	rkey atomic.Uint32 // of the last OpBind
}

// AllocMW makes a window.
func (p *pd) AllocMW() (verbs.MW, error) {
	if !p.ctx.caps.Windows {
		return nil, &verbs.OpError{Verb: "allocate MW", Device: p.ctx.name, Err: verbs.ErrNotSupported}
	}
	w := &mw{pd: p}
	err := p.life.adopt(func() (err error) {
		w.c, err = object[ibvMW](invoke(p.ctx.lib, p.ctx.c.Ops.AllocMW, ptr(p.c), mwType2))
		return err
	})
	if err != nil {
		return nil, p.ctx.failed("allocate MW", err)
	}
	w.rkey.Store(w.c.RKey)
	return w, nil
}

func (w *mw) RKey() uint32 { return w.rkey.Load() }

// next is the key of the next bind: type 2 lets the user choose the low byte.
func (w *mw) next() uint32 {
	key := w.rkey.Load()
	return key&^0xff | (key+1)&0xff
}

// Close destroys the window.
func (w *mw) Close() error {
	return w.pd.ctx.destroy("deallocate MW", &w.pd.life, &w.life, w.pd.ctx.c.Ops.DeallocMW, ptr(w.c))
}

// ah is an address.
type ah struct {
	pd     *pd
	c      *ibvAH
	life   life
	closed atomic.Bool
}

// ibvAH is opaque.
type ibvAH struct{ Context *ibvContext }

func (p *pd) createAH(a *ibvAHAttr) (*ah, error) {
	h := &ah{pd: p}
	err := p.life.adopt(func() (err error) {
		h.c, err = object[ibvAH](invoke(p.ctx.lib, p.ctx.lib.createAH, ptr(p.c), uintptr(unsafe.Pointer(a))))
		return err
	})
	if err != nil {
		return nil, p.ctx.failed("create AH to GID "+a.GRH.GID.String(), err)
	}
	return h, nil
}

// Close destroys the address. No post call may be using it.
func (h *ah) Close() error {
	h.closed.Store(true)
	return h.pd.ctx.destroy("destroy AH", &h.pd.life, &h.life, h.pd.ctx.lib.destroyAH, ptr(h.c))
}

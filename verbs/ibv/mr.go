//go:build linux && (amd64 || arm64)

package ibv

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"heddle/verbs"
)

// mr is memory that the device may use.
type mr struct {
	pd    *pd
	c     *ibvMR
	mem   *verbs.Memory
	in    *dm // nil for memory that is not the device's
	life  life
	addr  uint64
	size  int
	lkey  uint32
	rkey  uint32
	binds bool // windows
}

// RegisterMR pins the memory and lets the device use it.
func (p *pd) RegisterMR(mem *verbs.Memory, access verbs.Access) (verbs.MR, error) {
	if !access.Valid() {
		return nil, &verbs.OpError{Verb: "register MR: remote writes and atomics need local ones", Device: p.ctx.name, Err: verbs.ErrInvalid}
	}
	m := &mr{pd: p, mem: mem, addr: mem.Addr(), size: len(mem.Bytes()), binds: access&verbs.WindowBind != 0}
	err := p.life.adopt(func() (err error) {
		m.c, err = m.register(accessFlags(access))
		return err
	})
	if errors.Is(err, syscall.ENOMEM) {
		var limit syscall.Rlimit
		if syscall.Getrlimit(rlimitMemlock, &limit) == nil && limit.Cur != rlimInfinity {
			return nil, &verbs.MemlockError{Need: uint64(m.size), Limit: limit.Cur, Err: err}
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

// register registers whatever kind of memory it is.
func (m *mr) register(flags uint32) (*ibvMR, error) {
	if in, ok := m.mem.Storage().(*dm); ok {
		m.in, m.addr, m.size = in, 0, m.mem.Size()
		return in.register(m.pd, m.size, flags)
	}
	if file, offset := m.mem.DMABuf(); file != nil {
		m.addr, m.size = uint64(offset), m.mem.Size()
		return m.pd.registerDMABuf(file, m.addr, m.size, flags)
	}
	if m.size == 0 {
		return nil, fmt.Errorf("memory of a device of another kind: %w", verbs.ErrNotSupported)
	}
	return m.pd.register(m.addr, m.size, flags)
}

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

// registerDMABuf has the device use memory of another driver. A driver that knows
// nothing of dmabufs says that it does not support them.
func (p *pd) registerDMABuf(file *os.File, offset uint64, length int, flags uint32) (*ibvMR, error) {
	lib := p.ctx.lib
	raw, err := file.SyscallConn()
	if err != nil {
		return nil, err
	}
	var m *ibvMR
	if fault := raw.Control(func(fd uintptr) {
		m, err = object[ibvMR](invoke(lib, lib.regDMABuf, ptr(p.c), uintptr(offset), uintptr(length), uintptr(offset), fd, uintptr(flags)))
	}); fault != nil {
		return nil, fmt.Errorf("dmabuf %s: %w: %w", file.Name(), verbs.ErrInvalid, fault)
	}
	if err != nil {
		return nil, fmt.Errorf("dmabuf %s: %w", file.Name(), sentinel(err))
	}
	return m, consistent(m.Context == p.ctx.c && m.PD == p.c && m.Length == uintptr(length), "ibv_mr")
}

func (m *mr) Memory() *verbs.Memory { return m.mem }
func (m *mr) Addr() uint64          { return m.addr }
func (m *mr) Len() int              { return m.size }
func (m *mr) LKey() uint32          { return m.lkey }
func (m *mr) RKey() uint32          { return m.rkey }

func (m *mr) SGE(offset, n int) verbs.SGE {
	return verbs.SGE{Addr: m.addr + uint64(offset), Length: uint32(n), LKey: m.lkey}
}

// Close takes the memory away from the device.
func (m *mr) Close() error {
	return m.pd.ctx.end("deregister MR", &m.pd.life, &m.life, func() error {
		err := failure(invoke(m.pd.ctx.lib, m.pd.ctx.lib.deregMR, ptr(m.c)))
		switch {
		case errors.Is(err, syscall.EINVAL) && m.binds:
			// The MR is one, so that is what drivers say of its windows.
			return fmt.Errorf("windows are bound to it: %w: %w", verbs.ErrBusy, err)
		case err == nil && m.in != nil:
			m.in.life.release()
		}
		return err
	})
}

//go:build linux && (amd64 || arm64)

package ibv

import (
	"runtime"
	"unsafe"

	"heddle/verbs"
)

// dm is memory of the device.
type dm struct {
	pd   *pd
	c    *ibvDM
	life life // its children are MRs
}

var (
	_ verbs.DeviceMemoryAllocator = (*pd)(nil)
	_ verbs.Storage               = (*dm)(nil)
)

// AllocDM allocates memory of the device.
func (p *pd) AllocDM(size int) (*verbs.Memory, error) {
	refuse := func(err error) (*verbs.Memory, error) {
		return nil, &verbs.OpError{Verb: "allocate device memory", Device: p.ctx.name, Got: size, Limit: p.ctx.attr.MaxDM, Err: sentinel(err)}
	}
	alloc := p.ctx.c.extended(beforeAllocDM)
	switch {
	case !p.ctx.caps.DeviceMemory || alloc == 0:
		return refuse(verbs.ErrNotSupported)
	case size <= 0 || size > p.ctx.attr.MaxDM:
		return refuse(verbs.ErrInvalid)
	}
	d, a := &dm{pd: p}, &ibvAllocDMAttr{Length: uintptr(size)}
	err := p.life.adopt(func() (err error) {
		d.c, err = object[ibvDM](invoke(p.ctx.lib, alloc, ptr(p.ctx.c), uintptr(unsafe.Pointer(a))))
		if err != nil {
			return err
		}
		return consistent(d.c.Context == p.ctx.c && d.c.CopyTo != 0 && d.c.CopyFrom != 0, "ibv_dm")
	})
	if err != nil {
		return refuse(err)
	}
	return verbs.NewDeviceMemory(size, d), nil
}

// ReadAt copies from the device.
func (d *dm) ReadAt(p []byte, off int64) (int, error) {
	err := d.life.use(func() error {
		if len(p) == 0 {
			return nil
		}
		return failure(invoke(d.pd.ctx.lib, d.c.CopyFrom, uintptr(unsafe.Pointer(&p[0])), ptr(d.c), uintptr(off), uintptr(len(p))))
	})
	return d.copied(p, "copy from device memory", err)
}

// WriteAt copies to the device.
func (d *dm) WriteAt(p []byte, off int64) (int, error) {
	err := d.life.use(func() error {
		if len(p) == 0 {
			return nil
		}
		return failure(invoke(d.pd.ctx.lib, d.c.CopyTo, ptr(d.c), uintptr(off), uintptr(unsafe.Pointer(&p[0])), uintptr(len(p))))
	})
	return d.copied(p, "copy to device memory", err)
}

func (d *dm) copied(p []byte, verb string, err error) (int, error) {
	runtime.KeepAlive(p)
	if err != nil {
		return 0, d.pd.ctx.failed(verb, err)
	}
	return len(p), nil
}

// Close gives the memory back to the device.
func (d *dm) Close() error {
	return d.pd.ctx.destroy("free device memory", &d.pd.life, &d.life, d.pd.ctx.c.extended(beforeFreeDM), ptr(d.c))
}

// register makes an MR of it, whose addresses begin with 0.
func (d *dm) register(p *pd, size int, flags uint32) (m *ibvMR, err error) {
	if d.pd.ctx != p.ctx {
		return nil, verbs.ErrInvalid
	}
	reg := p.ctx.c.extended(beforeRegDM)
	if reg == 0 {
		return nil, verbs.ErrNotSupported
	}
	err = d.life.adopt(func() error {
		m, err = object[ibvMR](invoke(p.ctx.lib, reg, ptr(p.c), ptr(d.c), 0, uintptr(size), uintptr(flags|accessZeroBased)))
		if err != nil {
			return err
		}
		return consistent(m.Context == p.ctx.c && m.PD == p.c && m.Length == uintptr(size), "ibv_mr")
	})
	if err == verbs.ErrClosed { //nolint:errorlint // as life gives it
		return nil, verbs.ErrInvalid
	}
	return m, err
}

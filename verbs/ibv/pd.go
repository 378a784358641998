//go:build linux && (amd64 || arm64)

package ibv

import (
	"errors"
	"sync/atomic"
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
	return c.end(verb, parent, l, func() error { return failure(invoke(c.lib, fn, at)) })
}

// end does so by a function. An object that is busy stays.
func (c *deviceContext) end(verb string, parent, l *life, f func() error) error {
	done, err := l.end()
	if !done {
		return c.failed(verb, err)
	}
	if err = sentinel(f()); errors.Is(err, verbs.ErrBusy) {
		l.resume()
	} else {
		parent.release()
	}
	return c.failed(verb, err)
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

//go:build linux && (amd64 || arm64)

package ibv

import (
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"unsafe"

	"heddle/verbs"
)

// mw is a memory window.
type mw struct {
	pd   *pd
	kind verbs.MWType
	life life
	rkey atomic.Uint32 // of the last OpBind

	mu sync.Mutex // held by who posts one
	c  *ibvMW     // nil after the end of the QP that it was bound through; guarded by mu, as by
	by *qp        // that it was bound through last, of type 2
}

// AllocMW makes a window.
func (p *pd) AllocMW(t verbs.MWType) (verbs.MW, error) {
	caps := &p.ctx.caps
	if (t != verbs.MWType1 || !caps.Windows1) && (t != verbs.MWType2 || !caps.Windows2) {
		return nil, &verbs.OpError{Verb: "allocate MW of " + t.String(), Device: p.ctx.name, Err: verbs.ErrNotSupported}
	}
	w := &mw{pd: p, kind: t}
	if err := p.life.adopt(w.alloc); err != nil {
		return nil, p.ctx.failed("allocate MW", err)
	}
	return w, nil
}

func (w *mw) alloc() (err error) {
	p := w.pd
	w.c, err = object[ibvMW](invoke(p.ctx.lib, p.ctx.c.Ops.AllocMW, ptr(p.c), uintptr(w.kind)))
	if err != nil {
		return err
	}
	w.rkey.Store(w.c.RKey)
	return consistent(w.c.Context == p.ctx.c && w.c.PD == p.c && w.c.Type == uint32(w.kind), "ibv_mw")
}

// dealloc destroys what the device has of the window; mu is held.
func (w *mw) dealloc() error {
	if w.by != nil {
		w.by.windows.Delete(w)
		w.by = nil
	}
	if w.c == nil {
		return nil
	}
	err := failure(invoke(w.pd.ctx.lib, w.pd.ctx.c.Ops.DeallocMW, ptr(w.c)))
	if err == nil {
		w.c = nil
	}
	return err
}

func (w *mw) RKey() uint32 { return w.rkey.Load() }

// next is the key of the next bind: type 2 lets the user choose the low byte.
func (w *mw) next() uint32 {
	key := w.rkey.Load()
	return key&^0xff | (key+1)&0xff
}

// Close destroys the window.
func (w *mw) Close() error {
	return w.pd.ctx.end("deallocate MW", &w.pd.life, &w.life, func() error {
		w.mu.Lock()
		defer w.mu.Unlock()
		return w.dealloc()
	})
}

// endWindows takes the windows back that were bound through a QP which ends:
// drivers keep it as long as one is (rxe waits for that, for most of a minute). A
// window that is bound once more is made anew.
func (q *qp) endWindows() (err error) {
	for key := range q.windows.Range {
		w := key.(*mw)
		w.mu.Lock()
		if w.by == q {
			err = errors.Join(err, w.dealloc())
		}
		w.mu.Unlock()
	}
	return err
}

// postBind posts an OpBind: those of type 2 are requests like others, those of
// type 1 have a function of their own.
func (q *qp) postBind(wr *verbs.SendWR) error {
	if err := wr.Check(&q.attr, &q.ctx.caps); err != nil {
		return err
	}
	if verbs.QPState(q.state.Load()) < verbs.RTS {
		return verbs.ErrState
	}
	w, ok := wr.MW.(*mw)
	of, ok2 := wr.BindMR.(*mr)
	if !ok || !ok2 || w.pd != q.pd || of.pd != q.pd {
		return verbs.ErrInvalid
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	// Neither is destroyed before the call returns.
	return w.life.use(func() error {
		return of.life.use(func() error {
			if w.c == nil {
				if err := w.alloc(); err != nil {
					return err
				}
			}
			info := ibvBindInfo{MR: of.c, Addr: wr.SGEs[0].Addr, Length: uint64(wr.SGEs[0].Length), Access: accessFlags(wr.BindAccess)}
			if w.kind == verbs.MWType1 {
				return q.bind1(w, wr, info)
			}
			return q.bind2(w, wr, info)
		})
	})
}

func (q *qp) bind1(w *mw, wr *verbs.SendWR, info ibvBindInfo) error {
	raw := &ibvMWBind{ID: wr.ID, Flags: sendFlags[wr.Flags&15], Info: info}
	return q.life.use(func() error {
		err := failure(invoke(q.ctx.lib, q.ctx.c.Ops.BindMW, ptr(q.c), ptr(w.c), uintptr(unsafe.Pointer(raw))))
		if err == nil {
			w.rkey.Store(w.c.RKey)
		}
		return err
	})
}

func (q *qp) bind2(w *mw, wr *verbs.SendWR, info ibvBindInfo) error {
	if w.by != nil && w.by != q {
		w.by.windows.Delete(w)
	}
	w.by = q
	q.windows.Store(w, nil) // before the call: Close of the QP waits for it
	key := w.next()
	q.send.wrs[0] = ibvSendWR{ID: wr.ID, Op: wrBindMW, Flags: sendFlags[wr.Flags&15], Bind: ibvBind{MW: w.c, RKey: key, Info: info}}
	ret := q.send.call.run()
	runtime.KeepAlive(wr)
	if ret != 0 {
		return errnoOf(ret)
	}
	// Drivers take the key that the window has from there, which nobody else
	// brings up to date.
	w.c.RKey = key
	w.rkey.Store(key)
	return nil
}

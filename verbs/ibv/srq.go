//go:build linux && (amd64 || arm64)

package ibv

import (
	"unsafe"

	"heddle/verbs"
)

// srq is a shared receive queue.
type srq struct {
	pd   *pd
	c    *ibvSRQ
	life life // its children are QPs
	attr verbs.SRQAttr
	recv recvQueue
}

var _ verbs.SRQ = (*srq)(nil)

// CreateSRQ makes a shared receive queue.
func (p *pd) CreateSRQ(a verbs.SRQAttr) (verbs.SRQ, error) {
	if !p.ctx.caps.SRQ {
		return nil, &verbs.OpError{Verb: "create SRQ", Device: p.ctx.name, Err: verbs.ErrNotSupported}
	}
	a, err := a.Filled(p.ctx.attr)
	if err != nil {
		return nil, err
	}
	s := &srq{pd: p, attr: a}
	if err := p.life.adopt(s.create); err != nil {
		return nil, p.ctx.failed("create SRQ", err)
	}
	p.ctx.events.add(ptr(s.c), s)
	return s, nil
}

func (s *srq) create() (err error) {
	c := s.pd.ctx
	raw := &ibvSRQInitAttr{Attr: ibvSRQAttr{WR: uint32(s.attr.WR), SGE: uint32(s.attr.SGE)}}
	s.c, err = object[ibvSRQ](invoke(c.lib, c.lib.createSRQ, ptr(s.pd.c), uintptr(unsafe.Pointer(raw))))
	if err != nil {
		return err
	}
	if err := consistent(s.c.Context == c.c && s.c.PD == s.pd.c, "ibv_srq"); err != nil {
		return err
	}
	s.attr = verbs.SRQAttr{WR: int(raw.Attr.WR), SGE: int(raw.Attr.SGE)}
	s.recv.init(c, c.c.Ops.PostSRQRecv, ptr(s.c), s.attr.SGE)
	return nil
}

// PostRecv gives a buffer to the device.
func (s *srq) PostRecv(wr *verbs.RecvWR) error {
	if err := s.recv.postOne(wr); err != nil {
		return s.postError(wr.ID, err)
	}
	return nil
}

// PostRecvs gives several to it.
func (s *srq) PostRecvs(wrs []verbs.RecvWR) (n int, err error) {
	if n, err = s.recv.post(wrs); err != nil {
		return n, s.postError(wrs[n].ID, err)
	}
	return n, nil
}

func (s *srq) postError(id uint64, err error) error {
	return &verbs.OpError{Verb: "post to SRQ", Op: verbs.OpRecv, Device: s.pd.ctx.name, ID: id, Err: queueError(err)}
}

// Limit asks for one event.
func (s *srq) Limit(n int) error {
	c := s.pd.ctx
	if n < 0 || n > s.attr.WR {
		return &verbs.OpError{Verb: "limit of SRQ", Device: c.name, Got: n, Limit: s.attr.WR, Err: verbs.ErrInvalid}
	}
	return c.failed("limit of SRQ", s.life.use(func() error {
		raw := &ibvSRQAttr{Limit: uint32(n)}
		return failure(invoke(c.lib, c.lib.modifySRQ, ptr(s.c), uintptr(unsafe.Pointer(raw)), srqLimit))
	}))
}

// Close destroys it.
func (s *srq) Close() error {
	c := s.pd.ctx
	done, err := s.life.end()
	if !done {
		return c.failed("destroy SRQ", err)
	}
	defer s.pd.life.release()
	s.recv.gate.close()
	c.events.remove(ptr(s.c))
	return c.failed("destroy SRQ", failure(invoke(c.lib, c.lib.destroySRQ, ptr(s.c))))
}

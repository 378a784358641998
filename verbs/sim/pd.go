package sim

import (
	"context"
	"fmt"
	"slices"

	"heddle/ib"
	"heddle/verbs"
	"heddle/verbs/internal/queue"
)

// pd is a protection domain.
type pd struct {
	ctx    *opened
	number uint32

	made   int // guarded by net.mu, as all below
	closed bool
}

// AllocPD implements verbs.Context.
func (c *opened) AllocPD() (verbs.PD, error) {
	c.net.enter()
	defer c.net.leave()
	if err := c.usable(); err != nil {
		return nil, fmt.Errorf("allocate PD: %w", err)
	}
	c.made++
	c.dev.pds++
	return &pd{ctx: c, number: c.dev.pds}, nil
}

// usable tells whether something can be made of it; mu is held.
func (p *pd) usable() error {
	if p.closed {
		return verbs.ErrClosed
	}
	return p.ctx.usable()
}

// Close implements verbs.PD.
func (p *pd) Close() error {
	p.ctx.net.enter()
	defer p.ctx.net.leave()
	if p.closed {
		return nil
	}
	if p.made > 0 {
		return fmt.Errorf("close PD: %d objects: %w", p.made, verbs.ErrBusy)
	}
	p.closed = true
	p.ctx.made--
	return nil
}

// mr is registered memory.
type mr struct {
	*queue.Region
	pd      *pd
	in      *storage // nil for memory of the host
	windows int      // that are bound to it; guarded by net.mu, as closed
	closed  bool
}

// RegisterMR implements verbs.PD.
func (p *pd) RegisterMR(mem *verbs.Memory, access verbs.Access) (verbs.MR, error) {
	p.ctx.net.enter()
	defer p.ctx.net.leave()
	if err := p.usable(); err != nil {
		return nil, fmt.Errorf("register memory: %w", err)
	}
	if mem == nil {
		return nil, fmt.Errorf("register memory: none given: %w", verbs.ErrInvalid)
	}
	m := &mr{pd: p}
	var err error
	if m.in, _ = mem.Storage().(*storage); m.in != nil {
		m.Region, err = m.in.register(p, mem, access)
	} else {
		m.Region, err = p.ctx.dev.regions.Register(mem, access, p.number)
	}
	if err != nil {
		return nil, err
	}
	p.made++
	return m, nil
}

// Memory implements verbs.MR.
func (m *mr) Memory() *verbs.Memory { return m.Mem }

// LKey implements verbs.MR.
func (m *mr) LKey() uint32 { return m.Key }

// RKey implements verbs.MR.
func (m *mr) RKey() uint32 { return m.Key }

// SGE implements verbs.MR.
func (m *mr) SGE(offset, n int) verbs.SGE {
	return verbs.SGE{Addr: m.Addr() + uint64(offset), Length: uint32(n), LKey: m.Key}
}

// Close implements verbs.MR.
func (m *mr) Close() error {
	m.pd.ctx.net.enter()
	defer m.pd.ctx.net.leave()
	if m.closed {
		return nil
	}
	if m.windows > 0 {
		return fmt.Errorf("close MR: %d windows are bound to it: %w", m.windows, verbs.ErrBusy)
	}
	m.closed = true
	m.pd.made--
	m.pd.ctx.dev.regions.Remove(m.Region)
	if m.in != nil {
		m.in.mrs--
	}
	return nil
}

// cq is a completion queue whose users wait by letting the network go on.
type cq struct {
	*queue.CQ
	ctx *opened

	qps    []*qp // guarded by net.mu, as all below
	closed bool
}

// CreateCQ implements verbs.Context.
func (c *opened) CreateCQ(a verbs.CQAttr) (verbs.CQ, error) {
	c.net.enter()
	defer c.net.leave()
	if err := c.usable(); err != nil {
		return nil, fmt.Errorf("create CQ: %w", err)
	}
	q := &cq{ctx: c}
	var err error
	if q.CQ, err = queue.NewCQ(a, c.Attr().MaxCQE, q.overrun); err != nil {
		return nil, err
	}
	c.made++
	return q, nil
}

// overrun has all QPs that use it fail; mu is held, as it is wherever a
// completion is made.
func (q *cq) overrun() {
	q.ctx.tell(verbs.Event{Type: verbs.EventCQ, CQ: q})
	for _, user := range slices.Clone(q.qps) {
		user.fatal()
	}
}

// Poll implements verbs.CQ.
func (q *cq) Poll(into []verbs.WC) (n int, err error) {
	n, err = q.CQ.Poll(into)
	if n > 0 || err != nil || !q.ctx.net.turn() {
		return n, err
	}
	return q.CQ.Poll(into)
}

// Wait implements verbs.CQ.
func (q *cq) Wait(ctx context.Context) error { return q.ctx.net.wait(ctx, q.CQ.Happened) }

// Close implements verbs.CQ.
func (q *cq) Close() error {
	q.ctx.net.enter()
	defer q.ctx.net.leave()
	if q.closed {
		return nil
	}
	if err := q.CQ.Close(); err != nil {
		return err
	}
	q.closed = true
	q.ctx.made--
	return nil
}

// use has a QP use the CQ; unuse takes that back.
func (q *cq) use(by *qp) {
	q.Use()
	q.qps = append(q.qps, by)
}

func (q *cq) unuse(by *qp) {
	q.Unuse()
	if i := slices.Index(q.qps, by); i >= 0 {
		q.qps = slices.Delete(q.qps, i, i+1)
	}
}

// srq is a receive queue of several QPs.
type srq struct {
	pd   *pd
	sges int

	recvs  *queue.Recvs // guarded by net.mu, as all below
	limit  int          // 0 when no event is wanted
	users  int
	closed bool
}

// CreateSRQ implements verbs.PD.
func (p *pd) CreateSRQ(a verbs.SRQAttr) (verbs.SRQ, error) {
	p.ctx.net.enter()
	defer p.ctx.net.leave()
	if err := p.usable(); err != nil {
		return nil, fmt.Errorf("create SRQ: %w", err)
	}
	if !p.ctx.net.caps.SRQ {
		return nil, fmt.Errorf("create SRQ: %w", verbs.ErrNotSupported)
	}
	a, err := a.Filled(p.ctx.Attr())
	if err != nil {
		return nil, err
	}
	p.made++
	return &srq{pd: p, sges: a.SGE, recvs: queue.NewRecvs(a.WR, a.SGE)}, nil
}

// PostRecv implements verbs.SRQ.
func (s *srq) PostRecv(wr *verbs.RecvWR) error {
	s.pd.ctx.net.enter()
	defer s.pd.ctx.net.leave()
	return s.post(wr)
}

func (s *srq) post(wr *verbs.RecvWR) error {
	if s.closed {
		return verbs.ErrClosed
	}
	if err := wr.Check(s.sges); err != nil {
		return err
	}
	if err := s.recvs.Push(wr); err != nil {
		return err
	}
	s.pd.ctx.dev.stats.Posted[verbs.OpRecv]++
	return nil
}

// PostRecvs implements verbs.SRQ.
func (s *srq) PostRecvs(wrs []verbs.RecvWR) (n int, err error) {
	s.pd.ctx.net.enter()
	defer s.pd.ctx.net.leave()
	for i := range wrs {
		if err := s.post(&wrs[i]); err != nil {
			return i, err
		}
	}
	return len(wrs), nil
}

// Limit implements verbs.SRQ.
func (s *srq) Limit(n int) error {
	s.pd.ctx.net.enter()
	defer s.pd.ctx.net.leave()
	if s.closed {
		return verbs.ErrClosed
	}
	if n < 0 {
		return fmt.Errorf("SRQ limit %d: %w", n, verbs.ErrInvalid)
	}
	s.limit = n
	s.check()
	return nil
}

// check makes the event that is wanted.
func (s *srq) check() {
	if s.limit > 0 && s.recvs.Len() < s.limit {
		s.limit = 0
		s.pd.ctx.tell(verbs.Event{Type: verbs.EventSRQLimit, SRQ: s})
	}
}

// Close implements verbs.SRQ.
func (s *srq) Close() error {
	s.pd.ctx.net.enter()
	defer s.pd.ctx.net.leave()
	if s.closed {
		return nil
	}
	if s.users > 0 {
		return fmt.Errorf("close SRQ: %d QPs use it: %w", s.users, verbs.ErrBusy)
	}
	s.closed = true
	s.pd.made--
	return nil
}

// ah is where datagrams go.
type ah struct {
	pd     *pd
	attr   verbs.AHAttr
	to     *Device // nil for a group
	group  ib.MGID
	closed bool // guarded by net.mu
}

// CreateAH implements verbs.PD.
func (p *pd) CreateAH(a verbs.AHAttr) (verbs.AH, error) {
	p.ctx.net.enter()
	defer p.ctx.net.leave()
	return p.address(a)
}

func (p *pd) address(a verbs.AHAttr) (*ah, error) {
	refuse := func(err error) (*ah, error) { return nil, fmt.Errorf("create AH: %w", err) }
	if err := p.usable(); err != nil {
		return refuse(err)
	}
	if a.Port > 1 {
		return refuse(fmt.Errorf("port %d of %s, which has one: %w", a.Port, p.ctx.dev.name, verbs.ErrInvalid))
	}
	if err := p.ctx.hasGID(a.Source, a.Type); err != nil {
		return refuse(err)
	}
	h := &ah{pd: p, attr: a}
	if a.GID.IsMulticast() {
		h.group = ib.MGID(a.GID)
	} else if h.to = p.ctx.net.find(a.GID, a.LID); h.to == nil {
		return refuse(fmt.Errorf("nobody has GID %v or LID %v: %w", a.GID, a.LID, verbs.ErrNotFound))
	}
	p.made++
	return h, nil
}

// find is the device of a GID, or of a LID where there is none.
func (n *Network) find(gid ib.GID, lid ib.LID) *Device {
	for _, d := range n.devices {
		if gid == d.gid || gid == (ib.GID{}) && lid == d.lid {
			return d
		}
	}
	return nil
}

// ResolveAH implements verbs.PD.
func (p *pd) ResolveAH(endpoint []byte) (verbs.AH, ib.QPN, ib.QKey, error) {
	e, err := parseEndpoint(endpoint)
	if err != nil {
		return nil, 0, 0, err
	}
	if e.service != verbs.UD {
		return nil, 0, 0, fmt.Errorf("resolve: an endpoint of service %v: %w", e.service, verbs.ErrInvalid)
	}
	p.ctx.net.enter()
	defer p.ctx.net.leave()
	d := p.ctx.net.device(e.device)
	if d == nil {
		return nil, 0, 0, fmt.Errorf("resolve: no device %d: %w", e.device, verbs.ErrInvalid)
	}
	h, err := p.address(verbs.AHAttr{GID: d.gid, LID: d.lid})
	if err != nil {
		return nil, 0, 0, err
	}
	return h, e.qpn, e.qkey, nil
}

// Close implements verbs.AH.
func (h *ah) Close() error {
	h.pd.ctx.net.enter()
	defer h.pd.ctx.net.leave()
	if !h.closed {
		h.closed = true
		h.pd.made--
	}
	return nil
}

var (
	_ verbs.PD  = (*pd)(nil)
	_ verbs.MR  = (*mr)(nil)
	_ verbs.CQ  = (*cq)(nil)
	_ verbs.SRQ = (*srq)(nil)
	_ verbs.AH  = (*ah)(nil)
)

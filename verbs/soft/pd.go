package soft

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"heddle/ib"
	"heddle/verbs"
	"heddle/verbs/internal/queue"
	"heddle/verbs/soft/internal/engine"
)

// pd is a protection domain.
type pd struct {
	ctx    *opened
	port   *port
	number uint32

	made   int // guarded by port.mu, as closed
	closed bool
}

// AllocPD implements verbs.Context.
func (o *opened) AllocPD() (verbs.PD, error) {
	o.port.enter()
	defer o.port.leave()
	if err := o.usable(); err != nil {
		return nil, o.failure("allocate PD", err)
	}
	o.made++
	o.port.pds++
	return &pd{ctx: o, port: o.port, number: o.port.pds}, nil
}

// usable tells whether something can be made of it; port.mu is held.
func (p *pd) usable() error {
	if p.closed {
		return verbs.ErrClosed
	}
	return p.ctx.usable()
}

// Close implements verbs.PD.
func (p *pd) Close() error {
	p.port.enter()
	defer p.port.leave()
	if p.closed {
		return nil
	}
	if p.made > 0 {
		return p.ctx.failure(fmt.Sprintf("close PD: %d objects", p.made), verbs.ErrBusy)
	}
	p.closed = true
	p.ctx.made--
	return nil
}

// mr is registered memory.
type mr struct {
	*queue.Region
	pd     *pd
	closed bool // guarded by port.mu
}

// RegisterMR implements verbs.PD.
func (p *pd) RegisterMR(mem *verbs.Memory, access verbs.Access) (verbs.MR, error) {
	p.port.enter()
	defer p.port.leave()
	if err := p.usable(); err != nil {
		return nil, p.ctx.failure("register memory", err)
	}
	if mem == nil {
		return nil, p.ctx.failure("register memory: none given", verbs.ErrInvalid)
	}
	r, err := p.port.regions.Register(mem, access, p.number)
	if err != nil {
		return nil, p.ctx.failure("register memory", err)
	}
	p.made++
	return &mr{Region: r, pd: p}, nil
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
	m.pd.port.enter()
	defer m.pd.port.leave()
	if !m.closed {
		m.closed = true
		m.pd.made--
		m.pd.port.regions.Remove(m.Region)
	}
	return nil
}

// cq is a completion queue.
type cq struct {
	*queue.CQ
	ctx   *opened
	empty int // polls that found nothing; of who polls

	qps    []*qp // guarded by port.mu, as closed
	closed bool
}

// CreateCQ implements verbs.Context.
func (o *opened) CreateCQ(a verbs.CQAttr) (verbs.CQ, error) {
	o.port.enter()
	defer o.port.leave()
	if err := o.usable(); err != nil {
		return nil, o.failure("create CQ", err)
	}
	q := &cq{ctx: o}
	var err error
	if q.CQ, err = queue.NewCQ(a, o.attr.MaxCQE, q.overrun); err != nil {
		return nil, err
	}
	o.made++
	return q, nil
}

// overrun has all QPs that use it fail; port.mu is held, as it is wherever a
// completion is made.
func (q *cq) overrun() {
	q.ctx.tell(verbs.Event{Type: verbs.EventCQ, CQ: q})
	for _, user := range slices.Clone(q.qps) {
		user.core.Fatal()
	}
}

// patience is how often a CQ is polled in vain before its user looks for packets:
// more often than who goes to sleep does.
const patience = 16

// Poll implements verbs.CQ. Where it is empty, it lets virtual time go on, or from
// time to time looks for packets itself.
func (q *cq) Poll(into []verbs.WC) (n int, err error) {
	n, err = q.CQ.Poll(into)
	if n > 0 || err != nil || len(into) == 0 {
		q.empty = 0
		return n, err
	}
	p := q.ctx.port
	q.empty++
	switch {
	case p.net != nil:
		p.net.Step()
	case p.poller != nil && q.empty%patience == 0:
		p.poll()
	default:
		return 0, nil
	}
	return q.CQ.Poll(into)
}

// Wait implements verbs.CQ.
func (q *cq) Wait(ctx context.Context) error {
	p := q.ctx.port
	if p.net != nil {
		return p.net.wait(ctx, q.Happened)
	}
	if p.poller != nil {
		p.settle()
		p.poller.sleep()
		defer p.poller.wake()
	}
	return q.CQ.Wait(ctx)
}

// Close implements verbs.CQ.
func (q *cq) Close() error {
	q.ctx.port.enter()
	defer q.ctx.port.leave()
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
	pd    *pd
	sges  int
	recvs engine.Receives // guarded by port.mu, as all below

	limit  int // 0 when no event is wanted
	users  int
	closed bool
}

// CreateSRQ implements verbs.PD.
func (p *pd) CreateSRQ(a verbs.SRQAttr) (verbs.SRQ, error) {
	p.port.enter()
	defer p.port.leave()
	if err := p.usable(); err != nil {
		return nil, p.ctx.failure("create SRQ", err)
	}
	a, err := a.Filled(p.ctx.attr)
	if err != nil {
		return nil, err
	}
	p.made++
	s := &srq{pd: p, sges: a.SGE}
	s.recvs = engine.Receives{Recvs: queue.NewRecvs(a.WR, a.SGE), Taken: s.check, Shared: true}
	return s, nil
}

// PostRecv implements verbs.SRQ.
func (s *srq) PostRecv(wr *verbs.RecvWR) error {
	s.pd.port.enter()
	defer s.pd.port.leave()
	return s.post(wr)
}

func (s *srq) post(wr *verbs.RecvWR) error {
	if s.closed {
		return verbs.ErrClosed
	}
	if err := wr.Check(s.sges); err != nil {
		return err
	}
	return s.recvs.Push(wr)
}

// PostRecvs implements verbs.SRQ.
func (s *srq) PostRecvs(wrs []verbs.RecvWR) (n int, err error) {
	s.pd.port.enter()
	defer s.pd.port.leave()
	for i := range wrs {
		if err := s.post(&wrs[i]); err != nil {
			return i, err
		}
	}
	return len(wrs), nil
}

// Limit implements verbs.SRQ.
func (s *srq) Limit(n int) error {
	s.pd.port.enter()
	defer s.pd.port.leave()
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
	s.pd.port.enter()
	defer s.pd.port.leave()
	if s.closed {
		return nil
	}
	if s.users > 0 {
		return s.pd.ctx.failure(fmt.Sprintf("close SRQ: %d QPs use it", s.users), verbs.ErrBusy)
	}
	s.closed = true
	s.pd.made--
	return nil
}

// ah is where datagrams go.
type ah struct {
	pd     *pd
	path   Path
	closed bool // guarded by port.mu
}

// Path implements engine.Address.
func (h *ah) Path() *engine.Path { return &h.path }

// CreateAH implements verbs.PD.
func (p *pd) CreateAH(a verbs.AHAttr) (verbs.AH, error) {
	if a.Port > 1 {
		return nil, p.ctx.failure(fmt.Sprintf("create AH: port %d", a.Port), verbs.ErrInvalid)
	}
	link := p.port.link.Attr()
	source, err := link.gid(a.Source, a.Type)
	if err != nil {
		return nil, p.ctx.failure("create AH", err)
	}
	path := Path{LID: cmp.Or(uint16(a.MLID), uint16(a.LID)), SL: a.SL, Remote: a.GID, Hops: a.HopLimit}
	if path.Remote.IsValid() {
		path.Local = source.GID
	}
	switch {
	case !path.Remote.IsValid() && path.LID == 0:
		return nil, p.ctx.failure("create AH: neither GID nor LID", verbs.ErrInvalid)
	case link.Layer == verbs.LinkEthernet && !path.Remote.IsValid():
		return nil, p.ctx.failure("create AH: Ethernet needs a GID", verbs.ErrInvalid)
	}
	return p.address(path)
}

func (p *pd) address(path Path) (*ah, error) {
	p.port.enter()
	defer p.port.leave()
	if err := p.usable(); err != nil {
		return nil, p.ctx.failure("create AH", err)
	}
	p.made++
	return &ah{pd: p, path: path}, nil
}

// gid is the entry of the table that a GID or its zero value means.
func (a *LinkAttr) gid(g ib.GID, t verbs.GIDType) (verbs.GIDEntry, error) {
	for _, e := range a.GIDs {
		if (g == ib.GID{} || g == e.GID) && (t == verbs.GIDAny || t == e.Type) {
			return e, nil
		}
	}
	if g == (ib.GID{}) && t == verbs.GIDAny {
		return verbs.GIDEntry{}, nil // it has none
	}
	return verbs.GIDEntry{}, fmt.Errorf("the port has no GID %v of that type: %w", g, verbs.ErrNotFound)
}

// ResolveAH implements verbs.PD.
func (p *pd) ResolveAH(words []byte) (verbs.AH, ib.QPN, ib.QKey, error) {
	link := p.port.link.Attr()
	e, err := parseEndpoint(words, verbs.UD, &link)
	if err != nil {
		return nil, 0, 0, p.ctx.failure("resolve", err)
	}
	h, err := p.address(pathTo(&e, &link))
	if err != nil {
		return nil, 0, 0, err
	}
	return h, e.QPN, e.QKey, nil
}

// Close implements verbs.AH.
func (h *ah) Close() error {
	h.pd.port.enter()
	defer h.pd.port.leave()
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

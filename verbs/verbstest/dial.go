package verbstest

import (
	"context"
	"fmt"
	"io"
	"net/rpc"
	"runtime"
	"sync"
	"sync/atomic"

	"heddle/ib"
	"heddle/verbs"
)

// Peer is a process that Serve runs in.
type Peer struct {
	rpc  *rpc.Client
	next atomic.Uint64

	mu      sync.Mutex
	objects map[uint64]any // CQs, QPs and SRQs by number, for events; guarded by mu
}

// Dial makes a Peer of a connection to it.
func Dial(conn io.ReadWriteCloser) *Peer {
	return &Peer{rpc: rpc.NewClient(conn), objects: map[uint64]any{}}
}

// Close ends the connection.
func (p *Peer) Close() error { return p.rpc.Close() }

// Open opens a context in the other process. Its Await asks again and again; its
// MRs are of memory of the other process, of the size of what RegisterMR is
// given.
func (p *Peer) Open() (verbs.Context, error) {
	a, err := p.call(context.Background(), Call{Method: "Open"})
	if err != nil {
		return nil, err
	}
	return &farContext{far: far{p, a.Object}, name: a.Text, attr: a.Attr, caps: a.Caps}, nil
}

func (p *Peer) call(ctx context.Context, c Call) (Answer, error) {
	c.ID = p.next.Add(1)
	var a Answer
	call := p.rpc.Go("Far.Do", &c, &a, make(chan *rpc.Call, 1))
	select {
	case <-call.Done:
	case <-ctx.Done():
		p.rpc.Go("Far.Cancel", c.ID, new(bool), make(chan *rpc.Call, 1))
		<-call.Done
	}
	switch {
	case call.Error != nil:
		return a, fmt.Errorf("the other process, %s: %w", c.Method, call.Error)
	case a.Failure == nil:
		return a, nil
	case ctx.Err() != nil && a.Failure.Is(context.Canceled):
		return a, context.Cause(ctx)
	}
	return a, a.Failure
}

func (p *Peer) keep(number uint64, object any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.objects[number] = object
}

func kept[T any](p *Peer, number uint64) (v T) {
	p.mu.Lock()
	defer p.mu.Unlock()
	v, _ = p.objects[number].(T)
	return v
}

// far is an object of the other process.
type far struct {
	peer   *Peer
	number uint64
}

func (f far) do(c Call) (Answer, error) { return f.wait(context.Background(), c) }

func (f far) wait(ctx context.Context, c Call) (Answer, error) {
	c.Object = f.number
	return f.peer.call(ctx, c)
}

func (f far) Close() error {
	_, err := f.do(Call{Method: "Close"})
	return err
}

// numbered is every object that a call may name.
type numbered interface{ id() uint64 }

func (f far) id() uint64 { return f.number }

// numberOf is an object's number; 0 for none.
func numberOf(object any) uint64 {
	if n, ok := object.(numbered); ok {
		return n.id()
	}
	return 0
}

type farContext struct {
	far
	name   string
	attr   verbs.DeviceAttr
	caps   verbs.Caps
	closed atomic.Bool
}

func (c *farContext) Name() string           { return c.name }
func (c *farContext) Attr() verbs.DeviceAttr { return c.attr }
func (c *farContext) Caps() verbs.Caps       { return c.caps }

func (c *farContext) Close() error {
	err := c.far.Close()
	if err == nil {
		c.closed.Store(true)
	}
	return err
}

func (c *farContext) Port(number uint8) (verbs.PortAttr, error) {
	a, err := c.do(Call{Method: "Port", Number: int(number)})
	return a.Port, err
}

func (c *farContext) GID(port uint8, index int) (verbs.GIDEntry, error) {
	a, err := c.do(Call{Method: "GID", Number: int(port), Offset: index})
	return a.GID, err
}

func (c *farContext) AllocPD() (verbs.PD, error) {
	a, err := c.do(Call{Method: "AllocPD"})
	if err != nil {
		return nil, err
	}
	return &farPD{far{c.peer, a.Object}}, nil
}

func (c *farContext) CreateCQ(attr verbs.CQAttr) (verbs.CQ, error) {
	a, err := c.do(Call{Method: "CreateCQ", Number: attr.Depth, Offset: attr.Vector})
	if err != nil {
		return nil, err
	}
	cq := &farCQ{far: far{c.peer, a.Object}, depth: a.Number}
	c.peer.keep(a.Object, cq)
	return cq, nil
}

func (c *farContext) Event(ctx context.Context) (verbs.Event, error) {
	a, err := c.wait(ctx, Call{Method: "Event"})
	ev := a.Event
	ev.CQ, ev.QP, ev.SRQ = kept[verbs.CQ](c.peer, a.Objects[0]), kept[verbs.QP](c.peer, a.Objects[1]), kept[verbs.SRQ](c.peer, a.Objects[2])
	return ev, err
}

func (c *farContext) Await(ctx context.Context, ready func() bool) error {
	for !ready() {
		switch {
		case c.closed.Load():
			return verbs.ErrClosed
		case ctx.Err() != nil:
			return context.Cause(ctx)
		}
		runtime.Gosched()
	}
	return nil
}

type farPD struct{ far }

func (p *farPD) RegisterMR(mem *verbs.Memory, access verbs.Access) (verbs.MR, error) {
	c := Call{Method: "RegisterMR", Number: mem.Size(), Access: access}
	if of := numberOf(mem.Storage()); of != 0 {
		c.Others = []uint64{of}
	}
	a, err := p.do(c)
	if err != nil {
		return nil, err
	}
	return &farMR{far: far{p.peer, a.Object}, mem: mem, addr: a.Addr, length: a.Number, lkey: a.LKey, rkey: a.RKey}, nil
}

func (p *farPD) CreateQP(attr verbs.QPAttr) (verbs.QP, error) {
	c := Call{Method: "CreateQP", Others: []uint64{numberOf(attr.SendCQ), numberOf(attr.RecvCQ), numberOf(attr.SRQ)}}
	attr.SendCQ, attr.RecvCQ, attr.SRQ = nil, nil, nil
	c.QP = attr
	a, err := p.do(c)
	if err != nil {
		return nil, err
	}
	qp := &farQP{far: far{p.peer, a.Object}, qpn: a.QPN, service: attr.Type}
	p.peer.keep(a.Object, qp)
	return qp, nil
}

func (p *farPD) CreateSRQ(attr verbs.SRQAttr) (verbs.SRQ, error) {
	a, err := p.do(Call{Method: "CreateSRQ", SRQ: attr})
	if err != nil {
		return nil, err
	}
	q := &farSRQ{far{p.peer, a.Object}}
	p.peer.keep(a.Object, q)
	return q, nil
}

func (p *farPD) CreateAH(attr verbs.AHAttr) (verbs.AH, error) {
	a, err := p.do(Call{Method: "CreateAH", AH: attr})
	if err != nil {
		return nil, err
	}
	return far{p.peer, a.Object}, nil
}

func (p *farPD) ResolveAH(endpoint []byte) (verbs.AH, ib.QPN, ib.QKey, error) {
	a, err := p.do(Call{Method: "ResolveAH", Bytes: endpoint})
	if err != nil {
		return nil, 0, 0, err
	}
	return far{p.peer, a.Object}, a.QPN, a.QKey, nil
}

func (p *farPD) AllocMW(t verbs.MWType) (verbs.MW, error) {
	a, err := p.do(Call{Method: "AllocMW", Number: int(t)})
	if err != nil {
		return nil, err
	}
	return &farMW{far{p.peer, a.Object}}, nil
}

type farMW struct{ far }

// RKey is 0 where the other process is gone.
func (w *farMW) RKey() uint32 {
	a, _ := w.do(Call{Method: "RKey"}) // the next call fails as well
	return a.RKey
}

func (p *farPD) AllocDM(size int) (*verbs.Memory, error) {
	a, err := p.do(Call{Method: "AllocDM", Number: size})
	if err != nil {
		return nil, err
	}
	return verbs.NewDeviceMemory(size, &farStorage{far{p.peer, a.Object}}), nil
}

// farStorage is memory of a device of the other process.
type farStorage struct{ far }

func (s *farStorage) ReadAt(p []byte, off int64) (int, error) {
	a, err := s.do(Call{Method: "ReadAt", Offset: int(off), Number: len(p)})
	return copy(p, a.Bytes), err
}

func (s *farStorage) WriteAt(p []byte, off int64) (int, error) {
	a, err := s.do(Call{Method: "WriteAt", Offset: int(off), Bytes: p})
	return a.Number, err
}

type farMR struct {
	far
	mem        *verbs.Memory
	addr       uint64
	length     int
	lkey, rkey uint32
}

func (m *farMR) Memory() *verbs.Memory { return m.mem }
func (m *farMR) Addr() uint64          { return m.addr }
func (m *farMR) Len() int              { return m.length }
func (m *farMR) LKey() uint32          { return m.lkey }
func (m *farMR) RKey() uint32          { return m.rkey }

func (m *farMR) SGE(offset, n int) verbs.SGE {
	return verbs.SGE{Addr: m.addr + uint64(offset), Length: uint32(n), LKey: m.lkey}
}

func (m *farMR) Load(offset, n int) ([]byte, error) {
	a, err := m.do(Call{Method: "Load", Offset: offset, Number: n})
	return a.Bytes, err
}

func (m *farMR) Store(offset int, data []byte) error {
	_, err := m.do(Call{Method: "Store", Offset: offset, Bytes: data})
	return err
}

type farCQ struct {
	far
	depth int
}

func (c *farCQ) Depth() int { return c.depth }

func (c *farCQ) Poll(into []verbs.WC) (int, error) {
	a, err := c.do(Call{Method: "Poll", Number: len(into)})
	return copy(into, a.WCs), err
}

func (c *farCQ) Arm(solicitedOnly bool) error {
	_, err := c.do(Call{Method: "Arm", Flag: solicitedOnly})
	return err
}

func (c *farCQ) Wait(ctx context.Context) error {
	_, err := c.wait(ctx, Call{Method: "Wait"})
	return err
}

type farSRQ struct{ far }

func (q *farSRQ) PostRecv(wr *verbs.RecvWR) error {
	_, err := q.PostRecvs([]verbs.RecvWR{*wr})
	return err
}

func (q *farSRQ) PostRecvs(wrs []verbs.RecvWR) (int, error) {
	a, err := q.do(Call{Method: "PostRecvs", Recvs: wrs})
	return a.Number, err
}

func (q *farSRQ) Limit(n int) error {
	_, err := q.do(Call{Method: "Limit", Number: n})
	return err
}

type farQP struct {
	far
	qpn     ib.QPN
	service verbs.QPType
}

func (q *farQP) QPN() ib.QPN        { return q.qpn }
func (q *farQP) Type() verbs.QPType { return q.service }

func (q *farQP) State() (verbs.QPState, error) {
	a, err := q.do(Call{Method: "State"})
	return a.State, err
}

// Attr is zero where the other process is gone.
func (q *farQP) Attr() verbs.QPAttr {
	a, _ := q.do(Call{Method: "Attr"}) // the next call fails as well
	return a.QP
}

// Endpoint is nothing where the other process is gone.
func (q *farQP) Endpoint() []byte {
	a, _ := q.do(Call{Method: "Endpoint"}) // as Attr
	return a.Bytes
}

func (q *farQP) Connect(ctx context.Context, peer []byte) error {
	_, err := q.wait(ctx, Call{Method: "Connect", Bytes: peer})
	return err
}

func (q *farQP) Modify(to verbs.QPState) error {
	_, err := q.do(Call{Method: "Modify", State: to})
	return err
}

func (q *farQP) PostSend(wr *verbs.SendWR) error {
	_, err := q.PostSends([]verbs.SendWR{*wr})
	return err
}

func (q *farQP) PostSends(wrs []verbs.SendWR) (int, error) {
	c := Call{Method: "PostSends"}
	for _, wr := range wrs {
		c.Others = append(c.Others, numberOf(wr.AH), numberOf(wr.MW), numberOf(wr.BindMR))
		wr.AH, wr.MW, wr.BindMR = nil, nil, nil
		c.Sends = append(c.Sends, wr)
	}
	a, err := q.do(c)
	return a.Number, err
}

func (q *farQP) PostRecv(wr *verbs.RecvWR) error {
	_, err := q.PostRecvs([]verbs.RecvWR{*wr})
	return err
}

func (q *farQP) PostRecvs(wrs []verbs.RecvWR) (int, error) {
	a, err := q.do(Call{Method: "PostRecvs", Recvs: wrs})
	return a.Number, err
}

func (q *farQP) Attach(group ib.MGID, lid ib.MLID) error {
	_, err := q.do(Call{Method: "Attach", Group: group, LID: lid})
	return err
}

func (q *farQP) Detach(group ib.MGID, lid ib.MLID) error {
	_, err := q.do(Call{Method: "Detach", Group: group, LID: lid})
	return err
}

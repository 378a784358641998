package verbstest

import (
	"context"
	"sync"
	"testing"

	"heddle/ib"
	"heddle/verbs"
	"heddle/verbs/sim"
)

// fault is what a device does wrong; what is nil, it does right. Both devices of
// a test have the same one.
type fault struct {
	world *world

	caps     func(*verbs.Caps)
	attr     func(*verbs.DeviceAttr)
	qp       func(*verbs.QPAttr)
	qpError  func(error) error
	access   func(verbs.Access) verbs.Access
	cq       func(*verbs.CQAttr)
	send     func(q *brokenQP, wr *verbs.SendWR) error
	sends    func(q *brokenQP, wrs []verbs.SendWR) (int, error)
	recv     func(q *brokenQP, wr *verbs.RecvWR) error
	poll     func(c *brokenCQ, into []verbs.WC, n int, err error) (int, error)
	arm      func(c *brokenCQ, solicited bool) error
	wait     func(ctx context.Context, c *brokenCQ) error
	connect  func(ctx context.Context, q *brokenQP, peer []byte) error
	modify   func(q *brokenQP, to verbs.QPState) error
	state    func(verbs.QPState) verbs.QPState
	told     func(verbs.QPAttr) verbs.QPAttr // of Attr
	attach   func(q *brokenQP, group ib.MGID) error
	detach   func() error
	event    func(*verbs.Event) (swallow bool)
	await    func(ctx context.Context, dev verbs.Context, ready func() bool) error
	close    func(times int, err error) error
	hasGID   func(error) error
	srqPosts func(q verbs.SRQ, wr *verbs.RecvWR) error
	resolve  func(verbs.AH, error) (verbs.AH, error)
	closeQP  func(verbs.QP) error
	mr       func(verbs.MR) verbs.MR
	mwType   func(verbs.MWType) verbs.MWType
	mw       func(verbs.MW) verbs.MW
	dmSize   func(int) int
	dm       func(verbs.Storage) verbs.Storage
}

// inner is an object that a fault wraps: the device is given what is in it.
type inner[T any] interface{ inner() T }

func unwrap[T any](object T) T {
	if w, ok := any(object).(inner[T]); ok {
		return w.inner()
	}
	return object
}

// world is what the devices of a test know of each other. The calls of their
// queues hold mu, so that a fault may keep what it likes.
type world struct {
	mu    sync.Mutex
	mrs   []verbs.MR
	qps   []*brokenQP
	count int
	kept  func() error // to be done with a later receive
}

// find is the MR of an address, or the one of a key.
func (w *world) find(is func(verbs.MR) bool) verbs.MR {
	for _, mr := range w.mrs {
		if is(mr) {
			return mr
		}
	}
	return nil
}

func (w *world) at(addr uint64) verbs.MR {
	return w.find(func(mr verbs.MR) bool { return addr >= mr.Addr() && addr < mr.Addr()+uint64(mr.Len()) })
}

func (w *world) of(key uint32) verbs.MR {
	return w.find(func(mr verbs.MR) bool { return mr.RKey() == key })
}

// spoil changes a byte of memory.
func (w *world) spoil(addr uint64) {
	if mr := w.at(addr); mr != nil && mr.Memory().Bytes() != nil {
		mr.Memory().Bytes()[addr-mr.Addr()] ^= 0x40
	}
}

// every tells each n-th time.
func (w *world) every(n int) bool { w.count++; return w.count%n == 0 }

type brokenDevice struct {
	verbs.Context
	f    *fault
	cqs  map[verbs.CQ]*brokenCQ
	qps  map[verbs.QP]*brokenQP
	srqs map[verbs.SRQ]*brokenSRQ
	end  closing
}

// closing counts the calls of Close.
type closing struct{ times int }

func (c *closing) of(f *fault, end func() error) error {
	c.times++
	err := end()
	if f.close != nil {
		err = f.close(c.times, err)
	}
	return err
}

func breaks(dev verbs.Context, f *fault) *brokenDevice {
	return &brokenDevice{Context: dev, f: f, cqs: map[verbs.CQ]*brokenCQ{}, qps: map[verbs.QP]*brokenQP{}, srqs: map[verbs.SRQ]*brokenSRQ{}}
}

func (d *brokenDevice) Close() error { return d.end.of(d.f, d.Context.Close) }

func (d *brokenDevice) Caps() verbs.Caps {
	c := d.Context.Caps()
	if d.f.caps != nil {
		d.f.caps(&c)
	}
	return c
}

func (d *brokenDevice) Attr() verbs.DeviceAttr {
	a := d.Context.Attr()
	if d.f.attr != nil {
		d.f.attr(&a)
	}
	return a
}

func (d *brokenDevice) AllocPD() (verbs.PD, error) {
	pd, err := d.Context.AllocPD()
	return &brokenPD{PD: pd, dev: d}, err
}

func (d *brokenDevice) CreateCQ(a verbs.CQAttr) (verbs.CQ, error) {
	wanted := a.Depth
	if d.f.cq != nil {
		d.f.cq(&a)
	}
	cq, err := d.Context.CreateCQ(a)
	if err != nil {
		return nil, err
	}
	c := &brokenCQ{CQ: cq, f: d.f, depth: wanted}
	d.cqs[cq] = c
	return c, nil
}

func (d *brokenDevice) Event(ctx context.Context) (verbs.Event, error) {
	for {
		ev, err := d.Context.Event(ctx)
		if err != nil {
			return ev, err
		}
		if c := d.cqs[ev.CQ]; c != nil {
			ev.CQ = c
		}
		if q := d.qps[ev.QP]; q != nil {
			ev.QP = q
		}
		if q := d.srqs[ev.SRQ]; q != nil {
			ev.SRQ = q
		}
		if d.f.event == nil || !d.f.event(&ev) {
			return ev, nil
		}
	}
}

func (d *brokenDevice) Await(ctx context.Context, ready func() bool) error {
	if d.f.await != nil {
		return d.f.await(ctx, d.Context, ready)
	}
	return d.Context.Await(ctx, ready)
}

type brokenPD struct {
	verbs.PD
	dev *brokenDevice
	end closing
}

func (p *brokenPD) Close() error { return p.end.of(p.dev.f, p.PD.Close) }

func (p *brokenPD) RegisterMR(mem *verbs.Memory, access verbs.Access) (verbs.MR, error) {
	p.dev.f.world.mu.Lock()
	defer p.dev.f.world.mu.Unlock()
	if p.dev.f.access != nil {
		access = p.dev.f.access(access)
	}
	if d, ok := mem.Storage().(brokenStorage); ok {
		mem = d.mem
	}
	mr, err := p.PD.RegisterMR(mem, access)
	if err == nil {
		p.dev.f.world.mrs = append(p.dev.f.world.mrs, mr)
		if p.dev.f.mr != nil {
			mr = p.dev.f.mr(mr)
		}
	}
	return mr, err
}

func (p *brokenPD) AllocMW(t verbs.MWType) (verbs.MW, error) {
	if p.dev.f.mwType != nil {
		t = p.dev.f.mwType(t)
	}
	mw, err := p.PD.(verbs.WindowAllocator).AllocMW(t)
	if err == nil && p.dev.f.mw != nil {
		mw = p.dev.f.mw(mw)
	}
	return mw, err
}

func (p *brokenPD) AllocDM(size int) (*verbs.Memory, error) {
	wanted := size
	if p.dev.f.dmSize != nil {
		size = p.dev.f.dmSize(size)
	}
	mem, err := p.PD.(verbs.DeviceMemoryAllocator).AllocDM(size)
	if err != nil || p.dev.f.dm == nil {
		return mem, err
	}
	return verbs.NewDeviceMemory(wanted, brokenStorage{p.dev.f.dm(mem.Storage()), mem}), nil
}

// brokenStorage is device memory with a fault.
type brokenStorage struct {
	verbs.Storage
	mem *verbs.Memory
}

func (p *brokenPD) CreateQP(a verbs.QPAttr) (verbs.QP, error) {
	p.dev.f.world.mu.Lock()
	defer p.dev.f.world.mu.Unlock()
	if c, ok := a.SendCQ.(*brokenCQ); ok {
		a.SendCQ = c.CQ
	}
	if c, ok := a.RecvCQ.(*brokenCQ); ok {
		a.RecvCQ = c.CQ
	}
	if q, ok := a.SRQ.(*brokenSRQ); ok {
		a.SRQ = q.SRQ
	}
	f := p.dev.f
	if f.qp != nil {
		f.qp(&a)
	}
	qp, err := p.PD.CreateQP(a)
	if f.qpError != nil {
		err = f.qpError(err)
	}
	if err != nil {
		return nil, err
	}
	q := &brokenQP{QP: qp, f: f}
	p.dev.qps[qp] = q
	f.world.qps = append(f.world.qps, q)
	return q, nil
}

func (p *brokenPD) CreateSRQ(a verbs.SRQAttr) (verbs.SRQ, error) {
	q, err := p.PD.CreateSRQ(a)
	if err != nil {
		return nil, err
	}
	s := &brokenSRQ{SRQ: q, f: p.dev.f}
	p.dev.srqs[q] = s
	return s, nil
}

func (p *brokenPD) CreateAH(a verbs.AHAttr) (verbs.AH, error) {
	ah, err := p.PD.CreateAH(a)
	if p.dev.f.hasGID != nil {
		err = p.dev.f.hasGID(err)
	}
	return ah, err
}

func (p *brokenPD) ResolveAH(endpoint []byte) (verbs.AH, ib.QPN, ib.QKey, error) {
	ah, qpn, key, err := p.PD.ResolveAH(endpoint)
	if p.dev.f.resolve != nil {
		ah, err = p.dev.f.resolve(ah, err)
	}
	return ah, qpn, key, err
}

type brokenSRQ struct {
	verbs.SRQ
	f   *fault
	end closing
}

func (q *brokenSRQ) Close() error { return q.end.of(q.f, q.SRQ.Close) }

func (q *brokenSRQ) PostRecv(wr *verbs.RecvWR) error {
	if q.f.srqPosts != nil {
		return q.f.srqPosts(q.SRQ, wr)
	}
	return q.SRQ.PostRecv(wr)
}

type brokenCQ struct {
	verbs.CQ
	f     *fault
	depth int
	held  []verbs.WC
	armed bool
	end   closing
}

func (c *brokenCQ) Close() error { return c.end.of(c.f, c.CQ.Close) }

func (c *brokenCQ) Depth() int { return c.depth }

func (c *brokenCQ) Poll(into []verbs.WC) (int, error) {
	c.f.world.mu.Lock()
	defer c.f.world.mu.Unlock()
	for _, q := range c.f.world.qps {
		q.release()
	}
	n, err := c.CQ.Poll(into)
	if c.f.poll != nil {
		return c.f.poll(c, into, n, err)
	}
	return n, err
}

func (c *brokenCQ) Arm(solicited bool) error {
	if c.f.arm != nil {
		return c.f.arm(c, solicited)
	}
	return c.CQ.Arm(solicited)
}

func (c *brokenCQ) Wait(ctx context.Context) error {
	if c.f.wait != nil {
		return c.f.wait(ctx, c)
	}
	return c.CQ.Wait(ctx)
}

type brokenQP struct {
	verbs.QP
	f    *fault
	held []*verbs.SendWR // to be posted later
	end  closing
}

// release posts what was held back.
func (q *brokenQP) release() {
	held := q.held
	q.held = nil
	for _, wr := range held {
		q.QP.PostSend(wr) //nolint:errcheck // the test finds it missing
	}
}

func (q *brokenQP) Close() error {
	if q.f.closeQP != nil {
		return q.f.closeQP(q.QP)
	}
	return q.end.of(q.f, q.QP.Close)
}

func (q *brokenQP) State() (verbs.QPState, error) {
	s, err := q.QP.State()
	if q.f.state != nil {
		s = q.f.state(s)
	}
	return s, err
}

func (q *brokenQP) Attr() verbs.QPAttr {
	a := q.QP.Attr()
	if q.f.told != nil {
		a = q.f.told(a)
	}
	return a
}

func (q *brokenQP) PostSend(wr *verbs.SendWR) error {
	q.f.world.mu.Lock()
	defer q.f.world.mu.Unlock()
	if wr.Op == verbs.OpBind {
		whole := *wr
		whole.MW, whole.BindMR = unwrap(wr.MW), unwrap(wr.BindMR)
		wr = &whole
	}
	if q.f.send != nil {
		return q.f.send(q, wr)
	}
	return q.QP.PostSend(wr)
}

func (q *brokenQP) PostSends(wrs []verbs.SendWR) (int, error) {
	q.f.world.mu.Lock()
	defer q.f.world.mu.Unlock()
	if q.f.sends != nil {
		return q.f.sends(q, wrs)
	}
	if q.f.send == nil {
		return q.QP.PostSends(wrs)
	}
	for i := range wrs {
		if err := q.f.send(q, &wrs[i]); err != nil {
			return i, err
		}
	}
	return len(wrs), nil
}

func (q *brokenQP) PostRecv(wr *verbs.RecvWR) error {
	q.f.world.mu.Lock()
	defer q.f.world.mu.Unlock()
	if q.f.recv != nil {
		return q.f.recv(q, wr)
	}
	return q.QP.PostRecv(wr)
}

func (q *brokenQP) Connect(ctx context.Context, peer []byte) error {
	if q.f.connect != nil {
		return q.f.connect(ctx, q, peer)
	}
	return q.QP.Connect(ctx, peer)
}

func (q *brokenQP) Modify(to verbs.QPState) error {
	if q.f.modify != nil {
		return q.f.modify(q, to)
	}
	return q.QP.Modify(to)
}

func (q *brokenQP) Attach(group ib.MGID, lid ib.MLID) error {
	if q.f.attach != nil {
		return q.f.attach(q, group)
	}
	return q.QP.Attach(group, lid)
}

func (q *brokenQP) Detach(group ib.MGID, lid ib.MLID) error {
	if q.f.detach != nil {
		return q.f.detach()
	}
	return q.QP.Detach(group, lid)
}

// suiteOn is the suite on two simulated devices that have a fault.
func suiteOn(profile sim.Profile, f fault) *Suite {
	s := Suite{Patience: quick, Moment: quick / 100, Rounds: 40, MaxSize: 64 << 10}
	s.Open = func(tb testing.TB) (near, far verbs.Context) {
		n, err := sim.New(sim.Config{Profile: profile, Seed: 1})
		if err != nil {
			tb.Fatal(err)
		}
		tb.Cleanup(func() { n.Close() }) //nolint:errcheck // of a device that is to fail
		f := f
		f.world = &world{}
		open := func(name string) verbs.Context {
			dev, err := n.Add(name)
			if err != nil {
				tb.Fatal(err)
			}
			ctx, err := dev.Open()
			if err != nil {
				tb.Fatal(err)
			}
			return breaks(ctx, &f)
		}
		return open("near"), open("far")
	}
	return s.filled(true)
}

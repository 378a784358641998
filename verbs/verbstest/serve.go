package verbstest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/rpc"
	"sync"

	"heddle/verbs"
)

// Serve lets the test at the other end of a connection use contexts of this
// process, until the connection ends. Open opens one.
func Serve(conn io.ReadWriteCloser, open func() (verbs.Context, error)) error {
	s := &server{open: open, numbers: map[any]uint64{}, canceled: map[uint64]bool{}, running: map[uint64]context.CancelFunc{}}
	r := rpc.NewServer()
	if err := r.RegisterName("Far", &Far{s}); err != nil {
		return fmt.Errorf("serve: %w", err)
	}
	r.ServeConn(conn)
	return nil
}

// Far is what net/rpc calls.
type Far struct{ s *server }

// server has the objects that were made for the other process.
type server struct {
	open func() (verbs.Context, error)

	mu       sync.Mutex
	objects  []any // by number; guarded by mu, as all below
	numbers  map[any]uint64
	running  map[uint64]context.CancelFunc
	canceled map[uint64]bool // before they began
}

// memory is an MR, with the memory that was made for it; nil of a device's.
type memory struct {
	verbs.MR
	mem *verbs.Memory
}

func (m memory) Close() error {
	if err := m.MR.Close(); err != nil || m.mem == nil {
		return err
	}
	return m.mem.Close()
}

// add numbers an object, from 1 on.
func (s *server) add(object any, err error) (Answer, error) {
	if err != nil {
		return Answer{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.objects = append(s.objects, object)
	number := uint64(len(s.objects))
	s.numbers[object] = number
	return Answer{Object: number}, nil
}

func (s *server) number(object any) uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.numbers[object]
}

// object is one by its number; nil for 0.
func (s *server) object(number uint64) any {
	s.mu.Lock()
	defer s.mu.Unlock()
	if number == 0 || number > uint64(len(s.objects)) {
		return nil
	}
	return s.objects[number-1]
}

func find[T any](s *server, number uint64) (v T) {
	v, _ = s.object(number).(T)
	return v
}

// Do does a call.
func (f *Far) Do(c *Call, a *Answer) error {
	ctx, done := f.s.begin(c.ID)
	defer done()
	var err error
	*a, err = f.s.do(ctx, c)
	a.Failure = failure(err)
	return nil
}

// Cancel ends the context of a call.
func (f *Far) Cancel(id uint64, _ *bool) error {
	f.s.mu.Lock()
	defer f.s.mu.Unlock()
	if cancel := f.s.running[id]; cancel != nil {
		cancel()
	} else {
		f.s.canceled[id] = true
	}
	return nil
}

func (s *server) begin(id uint64) (context.Context, func()) {
	ctx, cancel := context.WithCancel(context.Background())
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running[id] = cancel
	if s.canceled[id] {
		cancel()
	}
	return ctx, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		cancel()
		delete(s.running, id)
		delete(s.canceled, id)
	}
}

var errMethod = errors.New("no such method")

func (s *server) do(ctx context.Context, c *Call) (Answer, error) {
	if c.Method == "Open" {
		dev, err := s.open()
		if err != nil {
			return Answer{}, err
		}
		a, err := s.add(dev, nil)
		a.Text, a.Attr, a.Caps = dev.Name(), dev.Attr(), dev.Caps()
		return a, err
	}
	object := s.object(c.Object)
	if closer, ok := object.(io.Closer); ok && c.Method == "Close" {
		return Answer{}, closer.Close()
	}
	switch o := object.(type) {
	case verbs.Context:
		return s.doContext(ctx, o, c)
	case verbs.PD:
		return s.doPD(o, c)
	case verbs.CQ:
		return s.doCQ(ctx, o, c)
	case verbs.QP:
		return s.doQP(ctx, o, c)
	case verbs.SRQ:
		return s.doSRQ(o, c)
	case memory:
		return s.doMR(o, c)
	case verbs.MW:
		return Answer{RKey: o.RKey()}, nil
	case *verbs.Memory:
		return doDM(o, c)
	}
	return Answer{}, fmt.Errorf("%s: %w", c.Method, errMethod)
}

func (s *server) doContext(ctx context.Context, dev verbs.Context, c *Call) (a Answer, err error) {
	switch c.Method {
	case "Port":
		a.Port, err = dev.Port(uint8(c.Number))
	case "GID":
		a.GID, err = dev.GID(uint8(c.Number), c.Offset)
	case "AllocPD":
		pd, err := dev.AllocPD()
		return s.add(pd, err)
	case "CreateCQ":
		cq, err := dev.CreateCQ(verbs.CQAttr{Depth: c.Number, Vector: c.Offset})
		if a, err = s.add(cq, err); err == nil {
			a.Number = cq.Depth()
		}
		return a, err
	case "Event":
		a.Event, err = dev.Event(ctx)
		a.Objects = [3]uint64{s.number(a.Event.CQ), s.number(a.Event.QP), s.number(a.Event.SRQ)}
		a.Event.CQ, a.Event.QP, a.Event.SRQ = nil, nil, nil
	default:
		err = fmt.Errorf("%s of a context: %w", c.Method, errMethod)
	}
	return a, err
}

func (s *server) doPD(pd verbs.PD, c *Call) (a Answer, err error) {
	switch c.Method {
	case "RegisterMR":
		return s.register(pd, c)
	case "CreateQP":
		attr := c.QP
		attr.SendCQ, attr.RecvCQ, attr.SRQ = find[verbs.CQ](s, c.Others[0]), find[verbs.CQ](s, c.Others[1]), find[verbs.SRQ](s, c.Others[2])
		qp, err := pd.CreateQP(attr)
		if a, err = s.add(qp, err); err == nil {
			a.QPN, a.Bytes = qp.QPN(), qp.Endpoint()
		}
		return a, err
	case "CreateSRQ":
		q, err := pd.CreateSRQ(c.SRQ)
		return s.add(q, err)
	case "CreateAH":
		ah, err := pd.CreateAH(c.AH)
		return s.add(ah, err)
	case "ResolveAH":
		ah, qpn, key, err := pd.ResolveAH(c.Bytes)
		a, err = s.add(ah, err)
		a.QPN, a.QKey = qpn, key
		return a, err
	case "AllocMW":
		return s.window(pd, verbs.MWType(c.Number))
	case "AllocDM":
		return s.deviceMemory(pd, c.Number)
	}
	return a, fmt.Errorf("%s of a PD: %w", c.Method, errMethod)
}

// register makes an MR of a device's memory, or of new memory.
func (s *server) register(pd verbs.PD, c *Call) (Answer, error) {
	if len(c.Others) > 0 {
		mr, err := pd.RegisterMR(find[*verbs.Memory](s, c.Others[0]), c.Access)
		if err != nil {
			return Answer{}, err
		}
		return s.addMR(memory{MR: mr})
	}
	mem, err := verbs.NewMemory(c.Number)
	if err != nil {
		return Answer{}, err
	}
	mr, err := pd.RegisterMR(mem, c.Access)
	if err != nil {
		return Answer{}, errors.Join(err, mem.Close())
	}
	return s.addMR(memory{mr, mem})
}

func (s *server) addMR(m memory) (Answer, error) {
	a, err := s.add(m, nil)
	a.Addr, a.Number, a.LKey, a.RKey = m.Addr(), m.Len(), m.LKey(), m.RKey()
	return a, err
}

func (s *server) window(pd verbs.PD, t verbs.MWType) (Answer, error) {
	alloc, ok := pd.(verbs.WindowAllocator)
	if !ok {
		return Answer{}, verbs.ErrNotSupported
	}
	mw, err := alloc.AllocMW(t)
	return s.add(mw, err)
}

func (s *server) deviceMemory(pd verbs.PD, size int) (Answer, error) {
	alloc, ok := pd.(verbs.DeviceMemoryAllocator)
	if !ok {
		return Answer{}, verbs.ErrNotSupported
	}
	mem, err := alloc.AllocDM(size)
	return s.add(mem, err)
}

func doDM(mem *verbs.Memory, c *Call) (a Answer, err error) {
	switch c.Method {
	case "ReadAt":
		a.Bytes = make([]byte, min(max(c.Number, 0), mem.Size()))
		a.Number, err = mem.ReadAt(a.Bytes, int64(c.Offset))
	case "WriteAt":
		a.Number, err = mem.WriteAt(c.Bytes, int64(c.Offset))
	default:
		err = fmt.Errorf("%s of device memory: %w", c.Method, errMethod)
	}
	return a, err
}

func (s *server) doMR(m memory, c *Call) (a Answer, err error) {
	var b []byte
	if m.mem != nil {
		b = m.mem.Bytes()
	}
	if c.Offset < 0 || c.Offset > len(b) {
		return a, fmt.Errorf("%s at %d: %w", c.Method, c.Offset, verbs.ErrInvalid)
	}
	switch c.Method {
	case "Load":
		if c.Number == 8 && c.Offset%8 == 0 { // as one
			r := region{MR: m.MR}
			return Answer{Bytes: r.load8(c.Offset)}, nil
		}
		a.Bytes = bytes.Clone(b[c.Offset:min(len(b), c.Offset+c.Number)])
	case "Store":
		copy(b[c.Offset:], c.Bytes)
	default:
		err = fmt.Errorf("%s of an MR: %w", c.Method, errMethod)
	}
	return a, err
}

func (s *server) doCQ(ctx context.Context, cq verbs.CQ, c *Call) (a Answer, err error) {
	switch c.Method {
	case "Poll":
		wcs := make([]verbs.WC, min(max(c.Number, 0), 1<<16))
		n, err := cq.Poll(wcs)
		return Answer{WCs: wcs[:n]}, err
	case "Arm":
		err = cq.Arm(c.Flag)
	case "Wait":
		err = cq.Wait(ctx)
	default:
		err = fmt.Errorf("%s of a CQ: %w", c.Method, errMethod)
	}
	return a, err
}

func (s *server) doQP(ctx context.Context, qp verbs.QP, c *Call) (a Answer, err error) {
	switch c.Method {
	case "State":
		a.State, err = qp.State()
	case "Attr":
		a.QP = qp.Attr()
		a.QP.SendCQ, a.QP.RecvCQ, a.QP.SRQ = nil, nil, nil
	case "Endpoint":
		a.Bytes = qp.Endpoint()
	case "Connect":
		err = qp.Connect(ctx, c.Bytes)
	case "Modify":
		err = qp.Modify(c.State)
	case "PostSends":
		a.Number, err = qp.PostSends(s.requests(c))
	case "PostRecvs":
		a.Number, err = qp.PostRecvs(c.Recvs)
	case "Attach":
		err = qp.Attach(c.Group, c.LID)
	case "Detach":
		err = qp.Detach(c.Group, c.LID)
	default:
		err = fmt.Errorf("%s of a QP: %w", c.Method, errMethod)
	}
	return a, err
}

// requests puts the objects of this process into requests.
func (s *server) requests(c *Call) []verbs.SendWR {
	for i := range c.Sends {
		wr, others := &c.Sends[i], c.Others[3*i:]
		wr.AH, wr.MW = find[verbs.AH](s, others[0]), find[verbs.MW](s, others[1])
		if m, ok := s.object(others[2]).(memory); ok {
			wr.BindMR = m.MR
		}
	}
	return c.Sends
}

func (s *server) doSRQ(q verbs.SRQ, c *Call) (a Answer, err error) {
	switch c.Method {
	case "PostRecvs":
		a.Number, err = q.PostRecvs(c.Recvs)
	case "Limit":
		err = q.Limit(c.Number)
	default:
		err = fmt.Errorf("%s of an SRQ: %w", c.Method, errMethod)
	}
	return a, err
}

package sa

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"heddle/ib"
	"heddle/mad"
	"heddle/umad"
)

// ErrNoSM says that the port does not know of a subnet manager.
var ErrNoSM = errors.New("no subnet manager has set up the port")

// Options are how a client asks. Zero means the default.
type Options struct {
	// Address is that of subnet administration, by default what the port was
	// told by its subnet manager, as it is now.
	Address *umad.Address
	// Call says how long to wait for answers: 1 s for each of 4 tries by
	// default.
	Call umad.CallOptions
	// SMKey shows that the client may be told everything. 0 is none.
	SMKey mad.SMKey
	// Window is how many joins JoinAll has outstanding, 8 by default.
	Window int
}

// Client asks subnet administration through a port. All methods may be called
// by many goroutines at once. It needs no Close: what is outstanding ends with
// its context or with the port.
type Client struct {
	port    *umad.Port
	options Options

	mu      sync.Mutex // guards what follows
	info    *umad.Info // of the port, nil where it is to be read again
	reports *reports   // nil before the first subscription
}

// New is a client on a port, which stays the caller's.
func New(port *umad.Port, o Options) *Client {
	o.Call.Timeout = cmp.Or(o.Call.Timeout, time.Second)
	o.Window = cmp.Or(max(o.Window, 0), 8)
	return &Client{port: port, options: o}
}

// portInfo is the state of the port, read again only after an answer did not
// come: another subnet manager may be at work.
func (c *Client) portInfo() (umad.Info, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.info == nil {
		info, err := c.port.Info()
		if err != nil {
			return umad.Info{}, err
		}
		c.info = &info
	}
	return *c.info, nil
}

func (c *Client) lost() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.info = nil
}

// server is the address of subnet administration.
func (c *Client) server() (umad.Address, error) {
	if a := c.options.Address; a != nil {
		return *a, nil
	}
	info, err := c.portInfo()
	if err != nil {
		return umad.Address{}, fmt.Errorf("find subnet administration: %w", err)
	}
	if !info.SMLID.IsUnicast() {
		c.lost()
		return umad.Address{}, fmt.Errorf("%s: %w", info.Name, ErrNoSM)
	}
	a := umad.ToLID(info.SMLID)
	a.SL = info.SMSL
	return a, nil
}

// own is the GID of the client's port.
func (c *Client) own() (ib.GID, error) {
	info, err := c.portInfo()
	return info.GID(), err
}

// request is a datagram of the class, to be asked with.
func (c *Client) request(method mad.Method, id mad.AttrID, a mad.Attribute, mask mad.ComponentMask) (*umad.Message, error) {
	to, err := c.server()
	if err != nil {
		return nil, err
	}
	var d mad.Datagram
	d.SetHeader(mad.Header{Class: mad.ClassSA, ClassVersion: classVersion, Method: method, Attr: id})
	d.SetSMKey(c.options.SMKey)
	d.SetComponentMask(mask)
	if a.Len() > len(d.Data()) {
		return nil, fmt.Errorf("%s of %d bytes: at most %d fit", id.Name(mad.ClassSA), a.Len(), len(d.Data()))
	}
	a.AppendTo(d.Data()[:0])
	return &umad.Message{Address: to, Data: d[:]}, nil
}

// classVersion is that of subnet administration.
const classVersion = 2

// ask sends a datagram and returns an answer with status 0.
func (c *Client) ask(ctx context.Context, method mad.Method, id mad.AttrID, a mad.Attribute, mask mad.ComponentMask) (*umad.Message, error) {
	return c.insist(ctx, func() (*umad.Message, error) { return c.request(method, id, a, mask) })
}

// insist asks again as long as the answer is busy.
func (c *Client) insist(ctx context.Context, request func() (*umad.Message, error)) (*umad.Message, error) {
	var wait backoff
	for {
		req, err := request()
		if err != nil {
			return nil, err
		}
		m, err := c.call(ctx, req)
		if err != nil || !isBusy(m) {
			return m, err
		}
		if err := wait.sleep(ctx); err != nil {
			return nil, fmt.Errorf("%w; %w", m.StatusError(), err)
		}
	}
}

// call is Port.Call whose error is also that of the answer, unless that is busy.
func (c *Client) call(ctx context.Context, req *umad.Message) (*umad.Message, error) {
	m, err := c.port.Call(ctx, req, c.options.Call)
	if errors.Is(err, umad.ErrTimeout) {
		c.lost()
	}
	if err != nil || isBusy(m) {
		return m, err
	}
	if err := m.StatusError(); err != nil {
		return nil, err
	}
	return m, nil
}

func isBusy(m *umad.Message) bool { return m.Datagram().Status() == mad.StatusBusy }

// backoff waits longer each time.
type backoff struct{ next time.Duration }

const (
	firstWait = 50 * time.Millisecond
	longest   = 5 * time.Second
)

func (b *backoff) sleep(ctx context.Context) error {
	b.next = min(max(2*b.next, firstWait), longest)
	timer := time.NewTimer(b.next)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// exchange sends one record and returns the one of the answer.
func exchange[R mad.Record](ctx context.Context, c *Client, method mad.Method, r R, mask mad.ComponentMask) (R, error) {
	var none R
	m, err := c.ask(ctx, method, r.AttrID(), r, mask)
	if err != nil {
		return none, err
	}
	return parse[R](m.Datagram().Data())
}

// parse reads a record of the type.
func parse[R mad.Record](data []byte) (R, error) {
	var r R
	a, err := mad.ParseAttribute(mad.ClassSA, r.AttrID(), data)
	if err != nil {
		return r, err
	}
	got, ok := a.(R)
	if !ok {
		return r, fmt.Errorf("%s is a %T, not a %T: %w", r.AttrID().Name(mad.ClassSA), a, r, mad.ErrUnknownAttribute)
	}
	return got, nil
}

package umad

import (
	"context"
	"encoding/binary"
	"fmt"
	"time"

	"heddle/mad"
)

// CallOptions says how long to wait for an answer. Zero means the default.
type CallOptions struct {
	// Timeout is how long to wait for the answer to each try, 200 ms by
	// default.
	Timeout time.Duration
	// Retries is how often to send again: 3 times by default, and with
	// NoRetries never.
	Retries int
	// MaxBytes is the longest answer by RMPP, 16 MiB by default.
	MaxBytes int
}

// NoRetries are the Retries of a request that is sent once.
const NoRetries = -1

const (
	defaultTimeout = 200 * time.Millisecond
	defaultRetries = 3
)

func (o CallOptions) withDefaults() CallOptions {
	if o.Timeout <= 0 {
		o.Timeout = defaultTimeout
	}
	if o.Retries == 0 {
		o.Retries = defaultRetries
	}
	o.Retries = max(o.Retries, 0)
	return o
}

// Call sends a request and waits for its answer, which is the caller's. An
// answer with a status other than 0 is no error: see Message.StatusError. The
// error wraps ErrTimeout where no answer came, net.ErrClosed after Close, and
// the context's cause where that ended first; an answer is then ignored.
//
// The request's transaction ID is replaced in what is sent; req stays as it is.
//
// A request whose RMPP header says Active goes by RMPP. The answer may come by
// RMPP to any request of a class that uses it: Timeout and Retries are then for
// its first segment, and mad.RMPPOptions for the rest.
func (p *Port) Call(ctx context.Context, req *Message, o CallOptions) (*Message, error) {
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	type result struct {
		m   *Message
		err error
	}
	came := make(chan result, 1)
	tid, err := p.start(req, o, func(m *Message, err error) {
		if m != nil {
			m = m.Clone()
		}
		came <- result{m, err}
	})
	if err != nil {
		return nil, err
	}
	select {
	case r := <-came:
		return r.m, r.err
	case <-ctx.Done():
		p.cancel(tid)
		return nil, context.Cause(ctx)
	}
}

// Start sends a request and returns; done is called once with the answer, as
// Call would return it, and may keep it only if it clones it. No goroutine
// waits for the answer, and in a steady state nothing is allocated, so that
// thousands may be outstanding. An error says that the request was not sent;
// done is then not called.
func (p *Port) Start(req *Message, o CallOptions, done func(*Message, error)) error {
	_, err := p.start(req, o, done)
	return err
}

func (p *Port) start(req *Message, o CallOptions, done func(*Message, error)) (tid uint32, err error) {
	t, err := p.admit(req, o, done)
	if err != nil {
		return 0, err
	}
	tid = binary.BigEndian.Uint32(t.msg.Data[12:])
	return tid, p.launch(t)
}

// admit makes a request outstanding, without sending it.
func (p *Port) admit(req *Message, o CallOptions, done func(*Message, error)) (*transaction, error) {
	if err := check(req); err != nil {
		return nil, fmt.Errorf("send request: %w", err)
	}
	h, err := mad.ParseHeader(req.Data)
	if err != nil {
		return nil, fmt.Errorf("send request: %w", err)
	}
	answer, ok := answerKey(h)
	if !ok {
		return nil, fmt.Errorf("send request: nothing answers the method %s", h.Method)
	}
	if err := p.use(req); err != nil {
		return nil, err
	}
	return p.beginRequest(req, answer, o.withDefaults(), done)
}

// launch sends the request of t.
func (p *Port) launch(t *transaction) error {
	if p.segments(&t.msg) {
		return p.sendByRMPP(t)
	}
	_, err := p.send(t)
	return err
}

// segments tells whether the port cuts a message into segments.
func (p *Port) segments(m *Message) bool { return !p.features.RMPP && usesRMPP(m.Data) }

// beginRequest makes a request outstanding and marks it as being sent.
func (p *Port) beginRequest(req *Message, answer key, o CallOptions, done func(*Message, error)) (*transaction, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err != nil {
		return nil, fmt.Errorf("send request: %w", p.err)
	}
	t := p.take()
	t.prepare(req, answer, o, done)
	p.table.add(t)
	binary.BigEndian.PutUint64(t.msg.Data[8:], uint64(t.tid))
	p.await(t)
	t.sending++
	p.counters.requests.Add(1)
	return t, nil
}

// take is a transaction to be used. The lock is held.
func (p *Port) take() *transaction {
	last := len(p.free) - 1
	if last < 0 {
		return new(transaction)
	}
	t := p.free[last]
	p.free = p.free[:last]
	return t
}

// cancel ends a request without a call of done.
func (p *Port) cancel(tid uint32) {
	p.mu.Lock()
	t := p.table.get(tid)
	if t == nil {
		p.mu.Unlock()
		return
	}
	x := t.transfer
	p.end(t)
	p.counters.cancelled.Add(1)
	p.mu.Unlock()
	if x != nil {
		p.abort(x)
	}
}

// Send sends what expects no answer, such as an answer, and does not keep it.
// A message whose RMPP header says Active goes by RMPP: Send returns after the
// first segment, and only the port's Stats tell how it ended. It fails with
// ErrTooMuch where the port carries too much already.
func (p *Port) Send(m *Message) error {
	if err := p.sendable(m); err != nil {
		return err
	}
	return p.deliver(m)
}

// sendable tells what is wrong with a message that expects no answer, and
// registers its class where nobody has.
func (p *Port) sendable(m *Message) error {
	if err := check(m); err != nil {
		return fmt.Errorf("send message: %w", err)
	}
	return p.use(m)
}

// deliver sends a message that expects no answer.
func (p *Port) deliver(m *Message) error {
	if p.segments(m) {
		return p.answerByRMPP(m)
	}
	return p.dev.Send(m, 0)
}

// check tells what is wrong with the length of what is to be sent.
func check(m *Message) error {
	switch n := len(m.Data); {
	case n < headerLen:
		return fmt.Errorf("%d bytes: %w", n, mad.ErrShort)
	case n != mad.Size && !usesRMPP(m.Data):
		return fmt.Errorf("%d bytes without RMPP, want %d", n, mad.Size)
	default:
		return nil
	}
}

// isAnswer tells whether m, whose ID is that of t, is the answer to it.
func (t *transaction) isAnswer(m *Message) bool {
	class := mad.Class(m.Data[1])
	attr := mad.AttrID(binary.BigEndian.Uint16(m.Data[16:]))
	returning := m.Data[4]&0x80 != 0
	return t.key == newKey(class, mad.Method(m.Data[3]), attr) && (returning || class != mad.ClassDirected)
}

// failure is the error of a request that ended without an answer.
func (t *transaction) failure(reason error) error {
	h, err := mad.ParseHeader(t.msg.Data)
	if err != nil {
		return reason
	}
	return fmt.Errorf("%s %s %s to %s, try %d: %w", h.Class, h.Method, h.Attr.Name(h.Class), t.msg.Address, t.tries, reason)
}

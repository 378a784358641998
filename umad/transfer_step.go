package umad

import (
	"fmt"
	"time"

	"heddle/ib"
	"heddle/mad"
)

// step moves a transfer on by what came, or by the time. The lock is held on
// entry and free after.
func (p *Port) step(x *transfer, in *mad.Datagram) {
	wasOver := x.machine.Over()
	if wasOver && in == nil {
		p.forget(x) // it lingered long enough
		p.mu.Unlock()
		return
	}
	out := x.machine.Step(time.Since(p.began), in, p.takeOut())
	if p.hold(x); p.tooMuch(x) {
		out = x.machine.Abort(mad.RMPPResources, out)
	}
	p.settle(x, wasOver, out)
}

// abort ends a transfer that nobody needs any more.
func (p *Port) abort(x *transfer) {
	p.mu.Lock()
	wasOver := x.machine.Over()
	p.settle(x, wasOver, x.machine.Abort(mad.RMPPUnspecified, p.takeOut()))
}

// settle sends what a step brought and does what follows from it. The lock is
// held on entry and free after.
func (p *Port) settle(x *transfer, wasOver bool, out []mad.Datagram) {
	finish := func() {}
	if at, running := x.machine.Deadline(); running {
		p.arm(&x.alarm, p.began.Add(at))
	} else if !wasOver {
		finish = p.finished(x)
	}
	p.mu.Unlock()
	p.sendAll(x.address, out)
	p.mu.Lock()
	p.outs = append(p.outs, out[:0])
	p.mu.Unlock()
	finish()
}

// takeOut is a slice for what a step sends. The lock is held.
func (p *Port) takeOut() []mad.Datagram {
	last := len(p.outs) - 1
	if last < 0 {
		return nil
	}
	out := p.outs[last]
	p.outs = p.outs[:last]
	return out
}

func (p *Port) sendAll(a Address, out []mad.Datagram) {
	for i := range out {
		if err := p.dev.Send(&Message{Address: a, Data: out[i][:]}, 0); err != nil {
			p.counters.sendErrors.Add(1) // as good as lost: it will be sent again
		}
	}
}

// hold counts the bytes that a transfer holds. The lock is held.
func (p *Port) hold(x *transfer) {
	if r, ok := x.machine.(*mad.RMPPReceiver); ok {
		p.holds(x, r.Size())
	}
}

// finished takes the result of a transfer that is over, and returns what is to
// be done with it without the lock, which is held.
func (p *Port) finished(x *transfer) func() {
	err := x.machine.Err()
	if err != nil {
		p.counters.transferErrors.Add(1)
	}
	t := x.t
	if x.t = nil; t != nil {
		t.transfer = nil
	}
	r, receiving := x.machine.(*mad.RMPPReceiver)
	if err != nil || !receiving {
		p.forget(x)
		return p.ended(t, err)
	}
	message := Message{Address: x.address, Data: r.Message()}
	p.lingers(x)
	if t == nil {
		return func() { p.requested(&message) }
	}
	done := p.end(t)
	p.counters.answers.Add(1)
	return func() { p.call(done, &message, nil) }
}

// ended goes on with a request of ours after its transfer failed, or after the
// peer has all of it. The lock is held.
func (p *Port) ended(t *transaction, err error) func() {
	switch {
	case t == nil:
		return func() {}
	case err == nil:
		p.arm(&t.alarm, time.Now().Add(t.timeout*time.Duration(t.retries+1)))
		t.retries = 0
		return func() {}
	default:
		err = t.failure(err)
		done := p.end(t)
		return func() { p.call(done, nil, err) }
	}
}

// lingers keeps a receiver for a peer that does not know that it is over. The
// lock is held.
func (p *Port) lingers(x *transfer) {
	p.hold(x)
	p.leave(x)
	if len(p.transfers) > maxLingering {
		p.forget(x)
		return
	}
	p.arm(&x.alarm, time.Now().Add(linger))
}

// forget removes a transfer. The lock is held.
func (p *Port) forget(x *transfer) {
	if p.transfers[x.key] == x {
		delete(p.transfers, x.key)
	}
	p.alarms.drop(&x.alarm)
	p.holds(x, 0)
	p.leave(x)
	x.t = nil
}

// sendByRMPP sends the request of t, which is marked as being sent.
func (p *Port) sendByRMPP(t *transaction) error {
	s, err := mad.NewRMPPSender(t.msg.Data, mad.RMPPOptions{Timeout: t.timeout, DualSided: true})
	p.mu.Lock()
	t.sending--
	if p.table.get(t.tid) != t {
		p.release(t)
		p.mu.Unlock()
		return nil
	}
	if err != nil {
		p.end(t)
		p.mu.Unlock()
		return fmt.Errorf("send request: %w", err)
	}
	k := transferKey{ours: true, class: t.key.class, method: mad.Method(t.msg.Data[3]), tid: uint64(t.tid)}
	p.step(p.begin(k, t.msg.Address, s, t), nil)
	return nil
}

// answerByRMPP sends a copy of m. A message with the same key is on the way
// already where a request was repeated: then nothing is done.
func (p *Port) answerByRMPP(m *Message) error {
	c := m.Clone()
	s, err := mad.NewRMPPSender(c.Data, mad.RMPPOptions{Once: p.features.Deaf && m.QPN <= ib.GSIQPN})
	if err != nil {
		return fmt.Errorf("send message: %w", err)
	}
	k := sentKeyOf(c)
	p.mu.Lock()
	switch {
	case p.err != nil:
		defer p.mu.Unlock()
		return fmt.Errorf("send message: %w", p.err)
	case p.transfers[k] != nil:
		p.mu.Unlock()
		p.counters.duplicates.Add(1)
		return nil
	case !p.roomFor(k, len(c.Data)):
		p.mu.Unlock()
		return fmt.Errorf("send message of %d bytes: %w", len(c.Data), ErrTooMuch)
	}
	x := p.begin(k, c.Address, s, nil)
	if !k.ours {
		p.enter(x, false)
	}
	p.holds(x, len(c.Data))
	p.step(x, nil)
	return nil
}

// sentKeyOf is the key of a message that is sent: an answer is found by its
// peer, everything else is our own.
func sentKeyOf(m *Message) transferKey {
	d := m.Datagram()
	k := transferKey{ours: !d.IsResponse(), class: d.Class(), method: d.Method(), tid: d.TID()}
	if k.ours {
		k.tid = uint64(uint32(k.tid))
		return k
	}
	k.peer(m)
	return k
}

// isAnswering tells whether the answer to a request is on the way by RMPP. The
// lock is held.
func (p *Port) isAnswering(m *Message) bool {
	if len(p.transfers) == 0 {
		return false
	}
	method, ok := mad.Method(m.Data[3]).Response()
	return ok && p.transfers[transferKeyOf(m, method)] != nil
}

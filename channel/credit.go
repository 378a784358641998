package channel

import (
	"fmt"

	"heddle/verbs"
)

// Credits tell a sender of SENDs how many buffers there are for it. The receiver
// posts a buffer again when its message was given back, and then tells how many
// were given back in all, by a SEND of its own: as soon as those are a quarter of
// all buffers, or one if the sender may be short of them. One such SEND is under
// way at a time.

// credits are the receiver's side.
type credits struct {
	memory *region // that the SEND is made of
	slots  uint64
	came   uint64 // messages
	back   uint64 // buffers that were given back, of all time
	told   uint64 // of those, by the last SEND
	last   uint64 // the request that it was
	twin   *twin  // messages tell as well; nil if they do not
	wr     verbs.SendWR
}

func (e *end) newCredits() (*credits, error) {
	memory, err := e.newRegion(8, false, 0)
	if err != nil {
		return nil, err
	}
	c := &credits{memory: memory, slots: uint64(e.cfg.Slots)}
	c.wr = verbs.SendWR{Op: verbs.OpSend, SGEs: make([]verbs.SGE, 0, 1)}
	return c, nil
}

// owed tells whether there is something to tell now.
func (c *credits) owed() bool {
	if c.twin != nil {
		c.told = ahead(c.told, c.twin.told.Load())
	}
	news := c.back - c.told
	return news >= (c.slots+3)/4 || news > 0 && c.came-c.told >= c.slots-c.slots/4
}

// tell sends what is owed, unless the SEND before is still under way. A peer that
// cannot be told is found out by others.
func (c *credits) tell(p *Peer) {
	if !c.owed() || c.isUnderWay(p) {
		return
	}
	store(c.memory.b, 0, c.back)
	if p.inline >= 8 {
		c.wr.Flags, c.wr.InlineData = verbs.Inline, c.memory.b[:8]
	} else {
		c.wr.SGEs = append(c.wr.SGEs[:0], c.memory.mr.SGE(0, 8))
	}
	if p.post(&c.wr, true) == nil {
		c.told, c.last = c.back, p.posted
		p.end.credits++
	}
}

func (c *credits) isUnderWay(p *Peer) bool {
	if p.isDone(c.last) {
		return false
	}
	return p.end.reap() != nil || !p.isDone(c.last)
}

// creditRecvs is how many receives a sender has for credits. Were there too few,
// the receiver's device would try again.
const creditRecvs = 8

// allowance is the sender's side.
type allowance struct {
	memory *region
	slots  uint64
	sent   uint64 // messages
	back   uint64 // buffers that were given back, as far as is known
	failed error  // of posting receives
	recv   verbs.RecvWR
	wcs    [creditRecvs]verbs.WC
}

func (e *end) newAllowance() (*allowance, error) {
	memory, err := e.newRegion(8*creditRecvs, false, verbs.LocalWrite)
	if err != nil {
		return nil, err
	}
	return &allowance{memory: memory, recv: verbs.RecvWR{SGEs: make([]verbs.SGE, 1)}}, nil
}

// invite posts the receives of a peer's queue pair.
func (a *allowance) invite(p *Peer) {
	for i := range uint64(creditRecvs) {
		if a.failed = a.post(p, i); a.failed != nil {
			return
		}
	}
}

func (a *allowance) post(p *Peer, id uint64) error {
	a.recv.ID, a.recv.SGEs[0] = id, a.memory.mr.SGE(8*int(id), 8)
	return p.qp.PostRecv(&a.recv)
}

// room tells whether there is a buffer for one more message.
func (a *allowance) room(p *Peer) error {
	if a.sent-a.back >= a.slots/2 {
		if err := a.poll(p); err != nil {
			return err
		}
	}
	if a.sent-a.back >= a.slots {
		return ErrWouldBlock
	}
	return nil
}

func (a *allowance) poll(p *Peer) error {
	n, err := p.end.recvs.Poll(a.wcs[:])
	for i := range a.wcs[:n] {
		if err := a.take(p, &a.wcs[i]); err != nil {
			p.lose(err)
			return p.gone
		}
	}
	return err
}

// take takes a SEND of the receiver's. One may overtake another.
func (a *allowance) take(p *Peer, wc *verbs.WC) error {
	if err := wc.Err(); err != nil {
		return err
	}
	back := load(a.memory.b, 8*int(wc.ID))
	if wc.Op != verbs.OpRecv || wc.ByteLen != 8 || back > a.sent {
		return fmt.Errorf("credits of %d bytes for %d of %d messages: %w", wc.ByteLen, back, a.sent, ErrInvalid)
	}
	a.back = max(a.back, back)
	return a.post(p, wc.ID)
}

// credit takes in what a message tells.
func (a *allowance) credit(p *Peer, low uint32) error {
	back := ahead(a.back, low)
	if back > a.sent {
		p.lose(fmt.Errorf("credits for %d of %d messages: %w", back, a.sent, ErrInvalid))
		return p.gone
	}
	a.back = back
	return nil
}

func (a *allowance) free() error {
	if a == nil {
		return nil
	}
	return a.memory.free()
}

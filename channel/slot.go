package channel

import (
	"errors"
	"fmt"

	"heddle/verbs"
)

// Slots of one sender. The receiver has memory of slots, each as large as the
// longest message and what goes beside it, and the list of those that are free
// (slot_list.go). Messages are numbered, and delivered in order.

// slotSender is what the senders to slots share.
type slotSender struct {
	end    *end
	beside int    // bytes in each slot beside the message
	memory remote // the slots
	size   int    // of the longest message; 0 before there was a peer
	peer   *Peer  // nil before there was one
	stride uint64 // from slot to slot
	stage  *stage
	open   *openings
	wr     verbs.SendWR
}

func newSlotSender(e *end, op verbs.Op, beside int) *slotSender {
	return &slotSender{end: e, beside: beside, wr: verbs.SendWR{Op: op, SGEs: make([]verbs.SGE, 1)}}
}

func (s *slotSender) queues() queues { return queues{send: 128} }

func (s *slotSender) offer(*Peer, *hello) {}

func (s *slotSender) attach(p *Peer, h *hello) (err error) {
	stride := uint64(padded(int(h.size)) + s.beside)
	slots := uint64(h.slots)
	switch {
	case s.peer != nil:
		return fmt.Errorf("a peer was there before: %w", ErrBusy)
	case slots == 0 || h.size == 0 || len(h.regions) < 2 || !h.regions[0].holds(slots*stride):
		return fmt.Errorf("peer's %d slots of %d bytes: %w", h.slots, h.size, ErrInvalid)
	case h.ring%8 != 0 || h.ring < 8*slots || !h.regions[1].holds(2*h.ring):
		return fmt.Errorf("peer's list of %d bytes for %d slots: %w", h.ring, h.slots, ErrInvalid)
	}
	size := staged(int(slots), int(stride))
	if err := s.end.affords(uint64(size)); err != nil {
		return err
	}
	if s.stage, err = s.end.newStage(p, size); err != nil {
		return err
	}
	if s.open, err = s.end.newOpenings(p, h, h.regions[1]); err != nil {
		return errors.Join(err, s.free())
	}
	s.memory, s.stride = h.regions[0], stride
	s.size = min(int(h.size), (s.end.longest(int(stride))-s.beside)&^7)
	s.wr.RKey = s.memory.rkey
	s.peer = p
	return nil
}

func (s *slotSender) detach(p *Peer) { p.lose(nil) }

func (s *slotSender) most() int { return s.size }

func (s *slotSender) abort() {}

// lend gives memory for a message of n bytes with others behind it, that goes to a
// slot in so many requests. Commit then finds room for these: it is here that one
// waits for a peer, where a context can end it.
func (s *slotSender) lend(n, behind, requests int) ([]byte, error) {
	switch {
	case s.peer == nil:
		return nil, ErrWouldBlock
	case s.peer.gone != nil:
		return nil, s.peer.gone
	}
	if err := s.open.room(); err != nil {
		return nil, err
	}
	// One more, as Flush may read the list meanwhile.
	if err := s.peer.ready(requests + 1); err != nil {
		return nil, err
	}
	b, err := s.stage.take(padded(n) + behind)
	if err != nil {
		return nil, err
	}
	return b[:n:padded(n)], nil
}

// write sends n bytes of the stage to an offset of the next message's slot.
func (s *slotSender) write(offset uint64, n int) error {
	s.wr.RemoteAddr = s.memory.addr + uint64(s.open.first())*s.stride + offset
	return s.stage.send(&s.wr, n)
}

// settled tells whether all is with the peer: the list is read behind it.
func (s *slotSender) settled() (bool, error) {
	if s.peer == nil {
		return true, nil
	}
	ok, err := s.peer.settled()
	if ok || err != nil {
		return ok, err
	}
	if err := s.open.look(); err != nil {
		return false, err
	}
	if s.peer.signaled != s.peer.posted {
		return false, s.open.ask()
	}
	return false, nil
}

func (s *slotSender) free() error { return errors.Join(s.stage.free(), s.open.free()) }

// slotReceiver is what the receivers of slots share.
type slotReceiver struct {
	end      *end
	peer     *Peer // that was invited last; what it writes may come before it is attached
	attached bool
	memory   *region
	stride   int
	vacant   *vacancies
	next     uint64 // number of the message that comes next
	held     []bool // by slot: it was delivered, and not given back
}

func newSlotReceiver(e *end, beside int) (_ *slotReceiver, err error) {
	r := &slotReceiver{end: e, stride: padded(e.cfg.Size) + beside, held: make([]bool, e.cfg.Slots)}
	if r.memory, err = e.newSlots(e.cfg.Slots*r.stride, verbs.LocalWrite|verbs.RemoteWrite); err != nil {
		return nil, err
	}
	if r.vacant, err = e.newVacancies(e.cfg.Slots); err != nil {
		return nil, errors.Join(err, r.free())
	}
	return r, nil
}

func (r *slotReceiver) queues() queues {
	return queues{access: verbs.RemoteWrite | verbs.RemoteRead}
}

func (r *slotReceiver) offer(p *Peer, h *hello) {
	if !r.attached {
		r.peer = p
	}
	h.slots, h.size, h.ring, h.salt = uint32(len(r.held)), uint32(r.end.cfg.Size), 8*r.vacant.length, r.vacant.salt
	h.regions = []remote{r.memory.remote(), r.vacant.memory.remote()}
}

func (r *slotReceiver) attach(*Peer, *hello) error {
	if r.attached {
		return fmt.Errorf("a peer was there before: %w", ErrBusy)
	}
	r.attached = true
	return nil
}

func (r *slotReceiver) detach(p *Peer) { p.lose(nil) }

// deliver gives the next message, which is n bytes at an offset of its slot.
func (r *slotReceiver) deliver(slot uint32, offset, n int) delivery {
	r.next++
	r.held[slot] = true
	at := int(slot)*r.stride + offset
	return delivery{data: r.memory.b[at : at+n : at+padded(n)], token: uint64(slot)}
}

// release gives a slot back, once.
func (r *slotReceiver) release(slot uint64) {
	if slot < uint64(len(r.held)) && r.held[slot] {
		r.held[slot] = false
		r.vacant.add(uint32(slot))
	}
}

// nothing is what poll gives when there is no message.
func (r *slotReceiver) nothing() error {
	if r.peer != nil && r.peer.gone != nil {
		return r.peer.gone
	}
	return ErrWouldBlock
}

// spoilt is a peer that wrote or sent what no sender does.
func (r *slotReceiver) spoilt(what string) error {
	if r.peer == nil {
		return ErrWouldBlock
	}
	r.peer.lose(fmt.Errorf("%s where message %d is awaited: %w", what, r.next, ErrInvalid))
	return r.peer.gone
}

func (r *slotReceiver) free() error { return errors.Join(r.memory.free(), r.vacant.free()) }

package channel

import (
	"errors"
	"fmt"

	"heddle/verbs"
)

// Slot with a flag beside it: a WRITE of the message to the beginning of its slot,
// of exactly its bytes, and a WRITE of its length to a word of the receiver's that
// is for its number. The second is placed after the first, but may be torn itself:
// the word is sealed, for its number, and was cleared when the message before was
// delivered that had the same word.

type slotFlagSender struct {
	*slotSender
	flags remote
	salt  uint64
	flag  verbs.SendWR
}

func newSlotFlagSender(e *end) (sending, error) {
	s := &slotFlagSender{slotSender: newSlotSender(e, verbs.OpWrite, 0)}
	s.flag = verbs.SendWR{Op: verbs.OpWrite, SGEs: make([]verbs.SGE, 1)}
	return s, nil
}

func (s *slotFlagSender) attach(p *Peer, h *hello) error {
	if len(h.regions) < 3 || !h.regions[2].holds(8*uint64(h.slots)) {
		return fmt.Errorf("peer's flags for %d slots: %w", h.slots, ErrInvalid)
	}
	if err := s.slotSender.attach(p, h); err != nil {
		return err
	}
	s.flags, s.salt = h.regions[2], h.salt
	s.flag.RKey = s.flags.rkey
	return nil
}

// saltOf is the salt of a message's flag.
func saltOf(number, salt uint64) uint64 { return salt ^ (number+1)*0x9e3779b97f4a7c15 }

func (s *slotFlagSender) reserve(n int) ([]byte, error) { return s.lend(n, 8, 2) }

func (s *slotFlagSender) commit(n int, _ *uint32) error {
	b, err := s.stage.take(padded(n) + 8)
	if err != nil {
		return err
	}
	if err := s.peer.ready(2); err != nil {
		return err
	}
	number := s.open.taken
	store(b, padded(n), seal(uint32(n), saltOf(number, s.salt)))
	if err := s.write(0, n); err != nil {
		return err
	}
	s.flag.RemoteAddr = s.flags.addr + 8*(number%uint64(len(s.open.slots)))
	s.open.take()
	return s.stage.send(&s.flag, 8)
}

type slotFlagReceiver struct {
	*slotReceiver
	flags *region
	waits watch
}

func newSlotFlagReceiver(e *end) (_ receiving, err error) {
	r := &slotFlagReceiver{}
	if r.slotReceiver, err = newSlotReceiver(e, 0); err != nil {
		return nil, err
	}
	if r.flags, err = e.newRegion(8*e.cfg.Slots, false, verbs.LocalWrite|verbs.RemoteWrite); err != nil {
		return nil, errors.Join(err, r.free())
	}
	r.waits.ready = func() bool {
		_, ok := r.length()
		return ok || e.closed.Load() || e.lost.Load()
	}
	return r, nil
}

func (r *slotFlagReceiver) offer(p *Peer, h *hello) {
	r.slotReceiver.offer(p, h)
	h.regions = append(h.regions, r.flags.remote())
}

// flag is the place of the next message's flag.
func (r *slotFlagReceiver) flag() int { return int(r.next%uint64(len(r.held))) * 8 }

// length is that of the next message, if it is there.
func (r *slotFlagReceiver) length() (n uint32, ok bool) {
	return unseal(load(r.flags.b, r.flag()), saltOf(r.next, r.vacant.salt))
}

func (r *slotFlagReceiver) watch() watch { return r.waits }

func (r *slotFlagReceiver) poll(d *delivery) error {
	n, ok := r.length()
	if !ok {
		return r.nothing()
	}
	slot, ok := r.vacant.slot(r.next)
	if !ok || uint64(n) > uint64(r.end.cfg.Size) {
		return r.spoilt("a flag of no message")
	}
	store(r.flags.b, r.flag(), 0)
	*d = r.deliver(slot, 0, int(n))
	return nil
}

func (r *slotFlagReceiver) free() error { return errors.Join(r.slotReceiver.free(), r.flags.free()) }

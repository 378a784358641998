package channel

import "heddle/verbs"

// Slot with a bell in each message: one WRITE of the message and of a word behind
// it, which is the last one of the slot, so that no message can look like it. The
// receiver looks at the last word of the slot that the next message goes to, and
// clears it before the slot is given back.
//
//	[free][message, padded][length, number, bell]
//
// The word: the length in bits 0 to 31, the message's number in bits 32 to 62, the
// bell in its last byte.

type slotBellSender struct{ *slotSender }

// trailer is a message's last word.
func trailer(n int, number uint64) uint64 { return uint64(n) | number<<32 | bellByte }

type slotBellReceiver struct {
	*slotReceiver
	// at is the place of the word that is waited for, negative where there is no
	// free slot; then one waits for the seen-th entry of the list.
	at    int
	seen  uint64
	waits watch
}

func newSlotBellReceiver(e *end) (receiving, error) {
	s, err := newSlotReceiver(e, 8)
	if err != nil {
		return nil, err
	}
	r := &slotBellReceiver{slotReceiver: s}
	for slot := range uint32(len(s.held)) { // memory may be the caller's
		store(s.memory.b, r.bell(slot), 0)
	}
	r.waits.ready = func() bool {
		switch {
		case e.closed.Load() || e.lost.Load():
			return true
		case r.at < 0:
			return r.vacant.next.Load() != r.seen
		default:
			return load(r.memory.b, r.at)&bellByte != 0
		}
	}
	return r, nil
}

func (r *slotBellReceiver) bell(slot uint32) int { return (int(slot)+1)*r.stride - 8 }

func (r *slotBellReceiver) watch() watch {
	r.at, r.seen = -1, r.vacant.next.Load()
	if slot, ok := r.vacant.slot(r.next); ok {
		r.at = r.bell(slot)
	}
	return r.waits
}

func (r *slotBellReceiver) poll(d *delivery) error {
	slot, ok := r.vacant.slot(r.next)
	if !ok {
		return r.nothing()
	}
	w := load(r.memory.b, r.bell(slot))
	if w&bellByte == 0 {
		return r.nothing()
	}
	n := uint64(uint32(w))
	if n > uint64(r.end.cfg.Size) || w != trailer(int(n), r.next) {
		return r.spoilt("a bell of no message")
	}
	*d = r.deliver(slot, r.stride-8-padded(int(n)), int(n))
	return nil
}

func (r *slotBellReceiver) release(slot uint64) {
	if slot < uint64(len(r.held)) && r.held[slot] {
		store(r.memory.b, r.bell(uint32(slot)), 0)
	}
	r.slotReceiver.release(slot)
}

func newSlotBellSender(e *end) (sending, error) {
	return &slotBellSender{newSlotSender(e, verbs.OpWrite, 8)}, nil
}

func (s *slotBellSender) reserve(n int) ([]byte, error) { return s.lend(n, 8, 1) }

func (s *slotBellSender) commit(n int, _ *uint32) error {
	size := padded(n) + 8
	b, err := s.stage.take(size)
	if err != nil {
		return err
	}
	store(b, size-8, trailer(n, s.open.taken))
	if err := s.write(s.stride-uint64(size), size); err != nil {
		return err
	}
	s.open.take()
	return nil
}

package channel

import (
	"fmt"

	"heddle/verbs"
)

// Slots of the sender, which the receiver READs. Slot i has messages i, i+k, ...
// of k slots. That there is one tells a word of it: its length, and in the highest
// bit whether the lap is an odd one, sealed. In a new slot it is 0, which is no
// word, and then the word of the lap before. The receiver gives slots back in the
// order in which they were filled, by reports of how many it was done with; until
// then the sender leaves them alone.

const lapBit = 1 << 31

// opened is the length in a message's word; false if it is an older message's.
func opened(w, salt, number, slots uint64) (n int, ok bool) {
	v, ok := unseal(w, salt)
	return int(v &^ lapBit), ok && uint64(v>>31) == number/slots&1
}

// lettered is the word of a message.
func lettered(n int, salt, number, slots uint64) uint64 {
	return seal(uint32(n)|uint32(number/slots&1)<<31, salt)
}

// fetchSender is what the senders share.
type fetchSender struct {
	end    *end
	peer   *Peer // nil before there was one
	slots  *region
	words  *region // in kinds that have them apart
	count  uint64  // of slots
	limit  uint64  // how many of them may be full
	head   int     // bytes before a message in its slot
	stride uint64
	salt   uint64
	sent   uint64 // messages
	back   reports
}

// make makes the slots; inlined is for those whose words are in the slots.
func (s *fetchSender) make(e *end, inlined bool) (err error) {
	s.end, s.salt, s.count = e, newSalt(), uint64(e.cfg.Slots)
	s.limit, s.stride = s.count, uint64(padded(e.cfg.Size))
	if inlined {
		s.head, s.stride = 8, s.stride+8
	}
	most := e.t.caps.MaxMessage
	if total := s.stride * s.count; total > maxRing || most > 0 && s.stride > uint64(most) {
		return fmt.Errorf("%d slots of %d bytes; a message of the device has %d, and all slots may have %d: %w", s.count, s.stride, most, maxRing, ErrInvalid)
	}
	if s.slots, err = e.newRegion(int(s.stride*s.count), false, verbs.RemoteRead); err != nil {
		return err
	}
	if !inlined {
		if s.words, err = e.newRegion(8*e.cfg.Slots, false, verbs.RemoteRead); err != nil {
			return err
		}
	}
	s.back.salt = s.salt
	return s.back.make(e)
}

func (s *fetchSender) queues() queues {
	return queues{send: 1, access: verbs.RemoteRead | verbs.RemoteWrite}
}

func (s *fetchSender) offer(_ *Peer, h *hello) {
	h.slots, h.size, h.salt = uint32(s.count), uint32(s.end.cfg.Size), s.salt
	h.regions = []remote{s.back.page.remote(), s.slots.remote()}
	if s.words != nil {
		h.regions = append(h.regions, s.words.remote())
	}
}

func (s *fetchSender) attach(p *Peer, h *hello) error {
	if s.peer != nil {
		return fmt.Errorf("a peer was there before: %w", ErrBusy)
	}
	if err := s.back.attach(p, h, 0); err != nil {
		return err
	}
	s.peer = p
	return nil
}

func (s *fetchSender) detach(p *Peer) { p.lose(nil) }

func (s *fetchSender) free() error {
	err := s.back.free()
	for _, r := range []*region{s.slots, s.words} {
		if e := r.free(); err == nil {
			err = e
		}
	}
	return err
}

func (s *fetchSender) most() int { return s.end.cfg.Size }

// reserve waits for the slot that is next.
func (s *fetchSender) reserve(n int) ([]byte, error) {
	switch {
	case s.peer == nil:
		return nil, ErrWouldBlock
	case s.peer.gone != nil:
		return nil, s.peer.gone
	case s.sent-s.back.value >= s.limit:
		if err := s.wait(); err != nil {
			return nil, err
		}
	}
	at := int(s.sent%s.count*s.stride) + s.head
	return s.slots.b[at : at+n : at+n], nil
}

func (s *fetchSender) wait() error {
	if err := s.back.look(); err != nil {
		return err
	}
	if s.back.value > s.sent {
		s.peer.lose(fmt.Errorf("the peer is done with %d messages of %d: %w", s.back.value, s.sent, ErrInvalid))
		return s.peer.gone
	}
	if s.sent-s.back.value < s.limit {
		return nil
	}
	return wouldBlock(s.back.ask())
}

// word is that of the message that is sent next.
func (s *fetchSender) word(n int) uint64 { return lettered(n, s.salt, s.sent, s.count) }

func (s *fetchSender) abort() {}

// settled tells whether the reader is done with all messages.
func (s *fetchSender) settled() (bool, error) {
	switch {
	case s.peer == nil || s.back.value == s.sent:
		return true, nil
	case s.peer.gone != nil:
		return false, s.peer.gone
	}
	if err := s.back.look(); err != nil {
		return false, err
	}
	if s.back.value < s.sent {
		return false, s.back.ask()
	}
	return true, nil
}

// fetchReader is what the receivers share. It has as many slots as the sender, or
// as few as it wants to.
type fetchReader struct {
	reading
	slots  remote
	count  uint64 // of the sender's slots
	room   uint64 // of its own
	head   int
	stride uint64
	size   int
	seq    uint64 // the message that is delivered next
}

// attach takes the sender's slots, and makes those of its own.
func (r *fetchReader) attach(p *Peer, h *hello, inlined bool) (err error) {
	r.count, r.size, r.stride = uint64(h.slots), int(h.size), uint64(padded(int(h.size)))
	regions := 3
	if inlined {
		regions, r.head, r.stride = 2, 8, r.stride+8
	}
	r.room = min(r.count, uint64(r.end.cfg.Slots))
	most := r.end.t.caps.MaxMessage
	switch {
	case r.peer != nil:
		return fmt.Errorf("a peer was there before: %w", ErrBusy)
	case len(h.regions) != regions || r.count == 0 || r.size == 0 || r.stride*r.room > maxRing ||
		!h.regions[0].holds(reportsEnd) || !h.regions[1].holds(r.count*r.stride) || !inlined && !h.regions[2].holds(8*r.count),
		most > 0 && r.stride > uint64(most):
		return fmt.Errorf("peer's %d slots of %d bytes: %w", h.slots, h.size, ErrInvalid)
	}
	if err := r.end.affords(r.stride * r.room); err != nil {
		return err
	}
	r.slots, r.lazy = h.regions[1], max(1, r.room/8)
	if r.local, err = r.end.newRegion(int(r.stride*r.room), false, verbs.LocalWrite); err != nil {
		return err
	}
	r.reporter.attach(p, h.regions[0], h.salt, 0)
	r.peer = p
	return nil
}

// full tells whether a message has no slot here yet.
func (r *fetchReader) full(number uint64) bool { return number-r.ledger.head >= r.room }

// place is where a message is in the slots here.
func (r *fetchReader) place(number uint64) int { return int(number % r.room * r.stride) }

// deliver gives the message that is next.
func (r *fetchReader) deliver(n int) delivery {
	at := r.place(r.seq) + r.head
	r.seq++
	return delivery{data: r.local.b[at : at+n : at+n], token: r.ledger.deliver(r.seq)}
}

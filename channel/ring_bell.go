package channel

import "heddle/verbs"

// Ring with a bell in each message, which nobody has to clear (the paper's
// section 4.3): one WRITE a message, and a receiver that only reads.
//
// Positions go down. A message is one WRITE of ascending bytes: a word of zeroes,
// the message, its length and the bell. The zeroes are where the bell of the next
// message will be: as the last byte of a WRITE is placed last, that place is clear
// before this bell can be seen. Were the positions to go up, the place of the next
// bell would lie behind this one, and be cleared too late. And as the zeroes go
// where the next WRITE puts its bell, that one must not come first: beside the
// order of bytes, which is all that the paper asks for, it takes that of WRITEs.
//
//	lower addresses                                higher addresses
//	[0][message, padded][length, bell]      <- before it in time: ...
//
// The bell's word: the length in bits 0 to 31, in bits 32 to 55 by how many words
// the room for the message was longer, the bell in its last byte.

const bellByte = 1 << 63

// Short messages go inline, and several that are committed together go in one
// WRITE: as each lies below the one before it, the bell of the first is the last
// byte, and all of them are there when it is.

type ringBellSender struct {
	*ringSender
	draft []byte // of a WRITE that goes inline, made from its end down
	low   int    // in draft: of the word for the next bell, which is clear until then
	end   uint64 // in the ring: of what is in draft
	brief verbs.SendWR
}

func newRingBellSender(e *end) (sending, error) {
	return &ringBellSender{ringSender: newRingSender(e), brief: verbs.SendWR{Op: verbs.OpWrite, Flags: verbs.Inline}}, nil
}

func (s *ringBellSender) attach(p *Peer, h *hello) error {
	if err := s.ringSender.attach(p, h); err != nil {
		return err
	}
	s.draft = make([]byte, max(8, p.inline&^7))
	s.low = len(s.draft) - 8
	s.brief.RKey = s.ring.rkey
	return nil
}

func (s *ringBellSender) most() int { return s.longest(16) }

func (s *ringBellSender) reserve(n int) ([]byte, error) {
	s.cap = n
	if s.isLong() {
		return s.reserveLong(n)
	}
	room := padded(n)
	// The zeroes must not meet the oldest bell that was not read.
	if p := s.peer; s.low < room+8 || p.gone != nil || !p.room(2) || s.pos+uint64(room+16) > s.until {
		if err := s.post(); err != nil {
			return nil, err
		}
		if err := s.room(uint64(room + 16)); err != nil {
			return nil, err
		}
	}
	at := s.low - room
	return s.draft[at : at+n : s.low], nil
}

// isLong tells whether what is reserved is too long for the draft.
func (s *ringBellSender) isLong() bool { return padded(s.cap)+16 > len(s.draft) }

func (s *ringBellSender) reserveLong(n int) ([]byte, error) {
	if err := s.post(); err != nil {
		return nil, err
	}
	size := padded(n) + 16
	b, err := s.lend(uint64(size), size, 1)
	if err != nil {
		return nil, err
	}
	return b[8 : 8+n : size-8], nil
}

// word is the word of the bell of a message of n bytes, for which more were
// reserved.
func (s *ringBellSender) word(n int) uint64 {
	return uint64(n) | uint64(padded(s.cap)-padded(n))/8<<32 | bellByte
}

func (s *ringBellSender) commit(n int, _ *uint32) error {
	if err := s.commitMore(n); err != nil {
		return err
	}
	return s.post()
}

// commitMore is commit of a message that goes with the next one.
func (s *ringBellSender) commitMore(n int) error {
	if s.isLong() {
		return s.commitLong(n)
	}
	if p := s.peer; p.gone != nil || !p.room(1) {
		if err := p.ready(1); err != nil {
			return err
		}
	}
	if s.low == len(s.draft)-8 {
		s.end = 2*s.length - s.at
	}
	room := padded(s.cap)
	put(s.draft, s.low, uint64(n)|uint64(room-padded(n))/8<<32|bellByte)
	s.low -= room + 8
	put(s.draft, s.low, 0)
	s.advance(uint64(room + 8))
	return nil
}

// post sends what is in the draft.
func (s *ringBellSender) post() error {
	n := len(s.draft) - s.low
	if n <= 8 {
		return nil
	}
	s.brief.InlineData, s.brief.RemoteAddr = s.draft[s.low:], s.ring.addr+s.end-uint64(n)
	if err := s.peer.post(&s.brief, false); err != nil {
		return err
	}
	s.low = len(s.draft) - 8
	return nil
}

func (s *ringBellSender) commitLong(n int) error {
	size := padded(s.cap) + 16
	b, err := s.stage.take(size)
	if err != nil {
		return err
	}
	put(b, 0, 0)
	put(b, size-8, s.word(n))
	if err := s.write(2*s.length-s.at-uint64(size), size); err != nil {
		return err
	}
	s.advance(uint64(size - 8))
	return nil
}

func (s *ringBellSender) settled() (bool, error) {
	if err := s.post(); err != nil {
		return false, err
	}
	return s.ringSender.settled()
}

type ringBellReceiver struct{ *ringReceiver }

func newRingBellReceiver(e *end) (receiving, error) {
	r, err := newRingReceiver(e, func(r *ringReceiver) bool {
		return load(r.ring.b, int(2*r.length-r.at-8))&bellByte != 0
	})
	return &ringBellReceiver{r}, err
}

func (r *ringBellReceiver) poll(d *delivery) error {
	bell := 2*r.length - r.at - 8
	w := load(r.ring.b, int(bell))
	if w&bellByte == 0 {
		return r.nothing()
	}
	n, more := uint64(uint32(w)), w>>32&(1<<24-1)
	room := uint64(padded(int(n))) + 8*more
	if room+16 > r.length/2 || r.pos+room+8-r.ledger.head > r.length {
		return r.spoilt("a bell without a message")
	}
	data := r.ring.b[bell-room : bell-room+n : bell]
	r.deliver(d, data, r.pos+room+8)
	return nil
}

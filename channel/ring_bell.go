package channel

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

type ringBellSender struct{ *ringSender }

func newRingBellSender(e *end) (sending, error) {
	return &ringBellSender{newRingSender(e)}, nil
}

func (s *ringBellSender) most() int { return s.longest(16) }

func (s *ringBellSender) reserve(n int) ([]byte, error) {
	size := padded(n) + 16
	// The zeroes must not meet the oldest bell that was not read.
	b, err := s.lend(uint64(size), size, 1)
	if err != nil {
		return nil, err
	}
	s.cap = n
	return b[8 : 8+n : size-8], nil
}

func (s *ringBellSender) commit(n int, _ *uint32) error {
	size := padded(s.cap) + 16
	b, err := s.stage.take(size)
	if err != nil {
		return err
	}
	more := uint64(padded(s.cap)-padded(n)) / 8
	put(b, 0, 0)
	put(b, size-8, uint64(n)|more<<32|bellByte)
	if err := s.give(2*s.length-s.at-uint64(size), size); err != nil {
		return err
	}
	s.advance(uint64(size - 8))
	return nil
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

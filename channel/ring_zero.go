package channel

// Ring with a bell in each message, which the receiver clears: what rings of one
// WRITE a message did before the one without zeroing (ring-bell).
//
// A record begins where the one before it ends. All of the ring that is not in
// use is zero: the receiver sees to it before it gives a record back.
//
//	lower addresses                                      higher addresses
//	[length + 1, sealed][message, padded][bell]    <- after it in time: ...
//
// The length tells where the bell is, and the bell, the last byte of the WRITE,
// that all is there. As nothing orders the bytes before it, the length may come in
// pieces: its seal tells. One word of the ring is always free, so that what is
// looked at for the next length has been cleared.

type ringZeroSender struct{ *ringSender }

func newRingZeroSender(e *end) (sending, error) { return &ringZeroSender{newRingSender(e)}, nil }

func (s *ringZeroSender) most() int { return s.longest(16) }

func (s *ringZeroSender) reserve(n int) ([]byte, error) {
	size := padded(n) + 16
	b, err := s.lend(uint64(size)+8, size, 1)
	if err != nil {
		return nil, err
	}
	return b[8 : 8+n : size-8], nil
}

func (s *ringZeroSender) commit(n int, _ *uint32) error {
	size := padded(n) + 16
	b, err := s.stage.take(size)
	if err != nil {
		return err
	}
	put(b, 0, seal(uint32(n)+1, s.salt))
	put(b, size-8, bellByte)
	if err := s.give(s.at, size); err != nil {
		return err
	}
	s.advance(uint64(size))
	return nil
}

type ringZeroReceiver struct{ *ringReceiver }

func newRingZeroReceiver(e *end) (receiving, error) {
	r, err := newRingReceiver(e, func(r *ringReceiver) bool {
		_, ok := r.rung()
		return ok
	})
	return &ringZeroReceiver{r}, err
}

// rung tells whether the record at pos is complete, and the length of its message,
// which may be nonsense. It is called without the lock too.
func (r *ringReceiver) rung() (n uint64, ok bool) {
	at := r.at
	v, ok := unseal(load(r.ring.b, int(at)), r.salt)
	if !ok || v == 0 {
		return 0, false
	}
	n = uint64(v - 1)
	bell := 8 + (n+7)&^7
	if bell >= r.length {
		return n, true
	}
	return n, load(r.ring.b, int(at+bell))&bellByte != 0
}

func (r *ringZeroReceiver) poll(d *delivery) error {
	n, ok := r.rung()
	if !ok {
		return r.nothing()
	}
	size := (n+7)&^7 + 16
	if !r.fits(size) {
		return r.spoilt("a message longer than the room")
	}
	at := r.at + 8
	r.deliver(d, r.ring.b[at:at+n:at+size-16], r.pos+size)
	return nil
}

func (r *ringZeroReceiver) release(token uint64) {
	from := r.ledger.head
	if r.ledger.release(token) {
		at := from % r.length
		clear(r.ring.b[at : at+r.ledger.head-from])
		r.moved()
	}
}

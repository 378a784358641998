package channel

// Shared ring with a bell in each message, which the receiver clears: a
// FETCH_AND_ADD, and one WRITE.
//
// All of the ring that is not in use is zero: the receiver sees to it before it
// gives a record back. (The ring of one sender needs no clearing, as each WRITE
// clears the place of the next bell; here another may have written that already.)
//
//	lower addresses                                     higher addresses
//	[length, sealed for its place][message, padded][facts, bell]
//
// As nothing orders the bytes before the last one, the length may come in pieces:
// its seal tells. A place without a message has the first word only, which tells
// how many cells are to be skipped.

type sharedBellSender struct{ *sharedRingSender }

func newSharedBellSender(e *end) (sending, error) {
	base, err := e.newSharedRingSender(1)
	if err != nil {
		return nil, err
	}
	s := &sharedBellSender{base}
	s.bury = s.mark
	return s, nil
}

func (s *sharedBellSender) most() int { return s.longest(16) }

func (s *sharedBellSender) reserve(n int) ([]byte, error) {
	size := padded(n) + 16
	b, err := s.lend(wholeCells(size), size)
	if err != nil {
		return nil, err
	}
	return b[8 : 8+n : size-8], nil
}

func (s *sharedBellSender) commit(n int, _ *uint32) error {
	size := padded(n) + 16
	b, err := s.take(size)
	if err != nil {
		return err
	}
	store(b, 0, s.seal(uint32(n)))
	store(b, size-8, uint64(s.facts(n))|bellByte)
	return s.used(s.put(size))
}

// mark buries the claim.
func (s *sharedBellSender) mark() error {
	b, err := s.stage.take(8)
	if err != nil {
		return err
	}
	store(b, 0, s.seal(buriedBit|uint32(s.claim.cells)))
	return s.used(s.put(8))
}

type sharedBellReceiver struct{ *sharedRing }

func newSharedBellReceiver(e *end) (receiving, error) {
	r := &sharedBellReceiver{&sharedRing{}}
	r.rung = func(c *ringEpoch, pos uint64) bool {
		_, _, ok := r.words(c, pos)
		return ok
	}
	r.read, r.wipe = r.record, r.clear
	return r, r.setUp(e)
}

// clear has what is given back be zero.
func (r *sharedBellReceiver) clear(c *ringEpoch, from, to uint64) {
	at := c.at(from)
	clear(c.ring.b[at : at+(to-from)*cellSize])
}

// words tells whether the record at a place is complete, and gives its two words,
// which may be nonsense.
func (r *sharedBellReceiver) words(c *ringEpoch, pos uint64) (v uint32, f facts, ok bool) {
	at := c.at(pos)
	if v, ok = c.unseal(load(c.ring.b, int(at)), pos); !ok {
		return 0, 0, false
	}
	bell := 8 + (uint64(v)+7)&^7
	if bell >= c.cells*cellSize/2 { // as that of a place without a message is
		return v, 0, true
	}
	w := load(c.ring.b, int(at+bell))
	return v, facts(w), w&bellByte != 0
}

func (r *sharedBellReceiver) record(c *ringEpoch, pos uint64) (record, bool) {
	v, f, ok := r.words(c, pos)
	switch {
	case !ok:
		return record{}, false
	case v&buriedBit != 0:
		return c.skipped(v&^buriedBit, pos), true
	case f.length() != uint64(v):
		return record{facts: f, source: f.slot(), wrong: "a bell without a message"}, true
	}
	return c.record(f, pos, 8, 16), true
}

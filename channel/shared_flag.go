package channel

import "heddle/verbs"

// Shared ring with bells of their own: a FETCH_AND_ADD, a WRITE of the record, and
// a WRITE of its bell, which has to be placed after it. Each cell of the ring has
// a word in an array of bells; that of a record's first cell tells how many cells
// the record has, sealed, as it may come in pieces. The receiver clears the words
// before it gives the cells back.
//
//	[facts][message, padded]
//
// A place without a message has a bell only.

type sharedFlagSender struct {
	*sharedRingSender
	bell verbs.SendWR
}

func newSharedFlagSender(e *end) (sending, error) {
	base, err := e.newSharedRingSender(2)
	if err != nil {
		return nil, err
	}
	s := &sharedFlagSender{sharedRingSender: base}
	s.bell = verbs.SendWR{Op: verbs.OpWrite, SGEs: make([]verbs.SGE, 1)}
	s.bury = s.mark
	return s, nil
}

func (s *sharedFlagSender) most() int { return s.longest(16) }

func (s *sharedFlagSender) reserve(n int) ([]byte, error) {
	size := padded(n) + 8
	b, err := s.lend(wholeCells(size), size+8)
	if err != nil {
		return nil, err
	}
	return b[8 : 8+n : size], nil
}

func (s *sharedFlagSender) commit(n int, _ *uint32) error {
	size := padded(n) + 8
	b, err := s.take(size + 8)
	if err != nil {
		return err
	}
	if err := s.peer.ready(2); err != nil {
		return err
	}
	store(b, 0, uint64(s.facts(n)))
	store(b, size, s.seal(uint32(s.claim.cells)))
	if err := s.put(size); err != nil {
		return err
	}
	return s.toll()
}

// toll sends the bell, which is next in the stage.
func (s *sharedFlagSender) toll() error {
	s.bell.RemoteAddr, s.bell.RKey = s.bells.addr+s.claim.pos%s.cells*8, s.bells.rkey
	return s.used(s.stage.send(&s.bell, 8))
}

// mark buries the claim.
func (s *sharedFlagSender) mark() error {
	b, err := s.stage.take(8)
	if err != nil {
		return err
	}
	store(b, 0, s.seal(buriedBit|uint32(s.claim.cells)))
	return s.toll()
}

type sharedFlagReceiver struct{ *sharedRing }

func newSharedFlagReceiver(e *end) (receiving, error) {
	r := &sharedFlagReceiver{&sharedRing{}}
	r.furnish = func(c *ringEpoch) (err error) {
		c.bells, err = e.newRegion(int(8*c.cells), false, verbs.LocalWrite|verbs.RemoteWrite)
		return err
	}
	r.rung = func(c *ringEpoch, pos uint64) bool {
		_, ok := r.bell(c, pos)
		return ok
	}
	r.read, r.wipe = r.record, r.clear
	return r, r.setUp(e)
}

// clear has the bells of what is given back be silent.
func (r *sharedFlagReceiver) clear(c *ringEpoch, from, to uint64) {
	for ; from < to; from++ {
		store(c.bells.b, int(from%c.cells*8), 0)
	}
}

// bell gives that of the record at a place.
func (r *sharedFlagReceiver) bell(c *ringEpoch, pos uint64) (v uint32, ok bool) {
	v, ok = c.unseal(load(c.bells.b, int(pos%c.cells*8)), pos)
	return v, ok && v != 0
}

func (r *sharedFlagReceiver) record(c *ringEpoch, pos uint64) (record, bool) {
	v, ok := r.bell(c, pos)
	switch {
	case !ok:
		return record{}, false
	case v&buriedBit != 0:
		return c.skipped(v&^buriedBit, pos), true
	}
	f := facts(load(c.ring.b, int(c.at(pos))))
	if f.cells() != uint64(v) {
		return record{facts: f, source: f.slot(), wrong: "a bell without a message"}, true
	}
	return c.record(f, pos, 8, 8), true
}

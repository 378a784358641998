package channel

import "heddle/verbs"

// Read ring with a separate bell: the receiver READs a word that tells how far the
// sender is, until it has gone on, and then all that is new. The word is stored
// after the records, and these are READ after it has come, so that no order is
// needed.
//
// The sender posts nothing.

type castFlagSender struct {
	castSender
	flag *region
}

func newCastFlagSender(e *end) (sending, error) {
	s := &castFlagSender{}
	err := s.make(e)
	if err == nil {
		s.flag, err = e.newRegion(8, false, verbs.RemoteRead)
	}
	return s, err
}

func (s *castFlagSender) offer(p *Peer, h *hello) {
	s.castSender.offer(p, h)
	h.regions = append(h.regions, s.flag.remote())
}

func (s *castFlagSender) commit(n int, _ *uint32) error {
	s.append(n)
	store(s.flag.b, 0, seal(uint32(s.pos/8), s.salt))
	return nil
}

func (s *castFlagSender) free() error {
	err := s.castSender.free()
	if e := s.flag.free(); err == nil {
		err = e
	}
	return err
}

type castFlagReader struct {
	castReader
	from remote
	flag *region
	to   uint64 // what is known of where the sender is
	data bool   // the READ that is under way is of records
}

func newCastFlagReader(e *end) (receiving, error) {
	r := &castFlagReader{}
	err := r.make(e)
	if err == nil {
		r.flag, err = e.newRegion(8, false, verbs.LocalWrite)
	}
	return r, err
}

func (r *castFlagReader) attach(p *Peer, h *hello) error {
	if len(h.regions) != 3 || !h.regions[2].holds(8) {
		return errNoWord
	}
	r.from, h.regions = h.regions[2], h.regions[:2]
	return r.castReader.attach(p, h)
}

func (r *castFlagReader) free() error {
	err := r.castReader.free()
	if e := r.flag.free(); err == nil {
		err = e
	}
	return err
}

func (r *castFlagReader) poll(d *delivery) error {
	return r.failed(r.tryPoll(d))
}

func (r *castFlagReader) tryPoll(d *delivery) error {
	if err := r.begin(); err != nil {
		return err
	}
	r.to = max(r.to, r.have)
	// What is here; then the word, the records and what was missing of one, where
	// they come at once.
	for range 4 {
		none, err := r.next(d)
		switch {
		case none:
			return r.spoilt("no record at %d of the ring", r.offset(r.pos))
		case !blocked(err):
			return err
		}
		if err := r.ask(); err != nil {
			return err
		}
		if ok, err := r.fetched(); !ok {
			return wouldBlock(err)
		}
		if news, err := r.heard(); !news {
			return wouldBlock(err)
		}
	}
	return ErrWouldBlock
}

// ask READs the records that are known to be there, or else the word.
func (r *castFlagReader) ask() error {
	switch {
	case r.number != 0:
		return nil
	case r.have < r.to:
		r.data = true
		return r.fetch(r.to)
	default:
		r.data, r.until = false, r.have
		return r.look(r.flag, 0, r.from, 0, 8)
	}
}

// heard takes in what a READ of the word brought.
func (r *castFlagReader) heard() (news bool, err error) {
	if r.data {
		return true, nil
	}
	if low, ok := unseal(load(r.flag.b, 0), r.salt); ok {
		if r.to, err = r.known(r.to, low); err != nil {
			return false, err
		}
	}
	if r.to > r.have {
		return true, nil
	}
	return false, r.idle()
}

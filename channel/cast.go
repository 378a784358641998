package channel

import (
	"fmt"
	"time"

	"heddle/verbs"
)

// Ring of the sender, which many receivers READ. Each record is a sealed word,
// whose salt goes with the position, and the message behind it. The word behind
// the last record is 0 before that record's own word is stored: what lies there
// from the lap before is no record.
//
//	[word][message, padded][word][message, padded][0]
//
// A reader that comes begins where the sender is then. It reports how far it has
// given back, in units of 8 bytes, and the sender leaves alone what not all of
// them have. A reader that holds up the sender for too long is evicted: each has
// a key of its own to the ring, and that is closed before anything is overwritten.
// No READ brings bytes from after that, so that a reader which was stopped has no
// need to look twice at what it got; its next READ fails, by which it knows.

// The page of a reader: where in the ring it begins, and at which position, both
// sealed and in units of 8 bytes; what it reports is behind that.
const (
	startOffset   = 0
	startPosition = 8
	startSize     = 16
)

// saltAt is the salt of a record's word.
func saltAt(salt, pos uint64) uint64 { return salt + uint64(uint32(pos/8)) }

// castSender is what the senders share.
type castSender struct {
	end    *end
	ring   *region // mapped twice; its own key is given to nobody
	length uint64
	salt   uint64
	pos    uint64 // where the next record begins, of all laps
	lowest uint64 // all readers have given back what is before it
	floor  uint64 // where they are to be besides, unless floorOf tells better
	size   int    // of what is reserved
	shares []*share
	// floorOf is where a reader must be before there is another message; nil where
	// the ring is all that counts.
	floorOf func(*share) uint64
	parted  func(*share) // tells a reader that it was evicted; nil where it finds out
}

// share is a reader as the sender knows it.
type share struct {
	peer  *Peer
	key   verbs.MR // to the ring
	back  reports
	slots uint64    // how many messages may be under way to it, where that counts
	since time.Time // when it began to hold up the sender
	takes bool      // it is attached, and neither gone nor evicted
	err   error     // of making it
}

func (s *castSender) make(e *end) (err error) {
	s.end, s.salt = e, newSalt()
	if s.ring, err = e.newRegion(e.cfg.Ring, true, 0); err != nil {
		return err
	}
	s.length = uint64(s.ring.mem.Size())
	return nil
}

func (s *castSender) queues() queues {
	return queues{send: 1, access: verbs.RemoteRead | verbs.RemoteWrite}
}

// offer makes what a reader gets of its own; attach tells if that failed.
func (s *castSender) offer(p *Peer, h *hello) {
	for len(s.shares) <= p.index {
		s.shares = append(s.shares, nil)
	}
	c := &share{peer: p}
	c.err = s.shares[p.index].free() // of one that was never attached
	s.shares[p.index] = c
	if c.err == nil {
		c.err = c.back.make(s.end)
	}
	if c.err == nil {
		c.key, c.err = s.end.t.pd.RegisterMR(s.ring.mem, verbs.RemoteRead)
	}
	h.ring, h.salt, h.slot = s.length, s.salt, uint32(p.index)
	if c.err == nil {
		c.back.salt = s.salt
		h.regions = []remote{c.back.page.remote(), {c.key.Addr(), 2 * s.length, c.key.RKey()}}
	}
}

func (s *castSender) attach(p *Peer, h *hello) error {
	c := s.shares[p.index]
	if c.err != nil {
		return c.err
	}
	if err := c.back.attach(p, h, s.pos/8); err != nil {
		return err
	}
	c.takes = true
	b := c.back.page.b
	store(b, startPosition, seal(uint32(s.pos/8), s.salt))
	store(b, startOffset, seal(uint32(s.pos%s.length/8), s.salt))
	return nil
}

func (s *castSender) detach(p *Peer) {
	p.lose(nil)
	_ = s.shares[p.index].free() // nobody could do anything about it
	s.shares[p.index] = nil
}

func (c *share) free() error {
	if c == nil {
		return nil
	}
	err := c.back.free()
	if e := c.close(); err == nil {
		err = e
	}
	return err
}

// close takes the ring from the reader.
func (c *share) close() (err error) {
	c.takes = false
	if c.key != nil {
		err, c.key = c.key.Close(), nil
	}
	return err
}

func (s *castSender) free() (err error) {
	for _, c := range s.shares {
		if e := c.free(); err == nil {
			err = e
		}
	}
	if e := s.ring.free(); err == nil {
		err = e
	}
	return err
}

// most leaves room for two records and the word behind them.
func (s *castSender) most() int { return int(min(s.length/2, maxRecord)) - 16 }

func (s *castSender) reserve(n int) ([]byte, error) {
	if err := s.room(uint64(padded(n)) + 16); err != nil {
		return nil, err
	}
	s.size = n
	at := s.pos%s.length + 8
	return s.ring.b[at : at+uint64(n) : at+uint64(n)], nil
}

// room tells whether so many bytes can be used, as far as is known, and else
// looks at the readers.
func (s *castSender) room(n uint64) error {
	if s.pos+n <= s.lowest+s.length && s.floor <= s.lowest {
		return nil
	}
	need := s.pos + n - min(s.pos+n, s.length)
	var err error
	lowest := s.pos
	for _, c := range s.shares {
		if c == nil || !c.takes {
			continue
		}
		from := need
		if s.floorOf != nil {
			from = max(need, s.floorOf(c))
		}
		if !s.counts(c, from) {
			continue
		}
		if lowest = min(lowest, c.back.value*8); c.back.value*8 < from {
			err = ErrWouldBlock
		}
	}
	s.lowest = lowest
	return err
}

// counts tells whether a reader is there, after it was looked at, and was evicted
// if that is due. The sender needs it to have given back all before a position.
func (s *castSender) counts(c *share, need uint64) bool {
	err := c.peer.gone
	if err == nil {
		err = c.back.look()
	}
	if err == nil && c.back.value*8 > s.pos {
		err = fmt.Errorf("a reader gave back %d bytes of %d: %w", c.back.value*8, s.pos, ErrInvalid)
	}
	if err == nil && c.back.value*8 < need {
		err = s.heldUp(c)
	} else {
		c.since = time.Time{}
	}
	if err != nil {
		s.evict(c, err)
	}
	return err == nil
}

// heldUp is ErrLagged when a reader has held up the sender for too long.
func (s *castSender) heldUp(c *share) error {
	if err := c.back.ask(); err != nil && !blocked(err) {
		return err
	}
	switch now := time.Now(); {
	case c.since.IsZero():
		c.since = now
	case s.end.cfg.Evict > 0 && now.Sub(c.since) > s.end.cfg.Evict:
		return ErrLagged
	}
	return nil
}

// evict takes the ring from a reader.
func (s *castSender) evict(c *share, why error) {
	if err := c.close(); err != nil {
		why = fmt.Errorf("%w, and %w", why, err)
	}
	if s.parted != nil && c.peer.gone == nil {
		s.parted(c)
	}
	c.peer.lose(why)
}

// append makes a record of what was reserved.
func (s *castSender) append(n int) {
	at, size := int(s.pos%s.length), 8+padded(n)
	store(s.ring.b, at+size, 0)
	store(s.ring.b, at, seal(uint32(n), saltAt(s.salt, s.pos)))
	s.pos += uint64(size)
}

func (s *castSender) abort() {}

// settled tells whether all readers have given back all.
func (s *castSender) settled() (bool, error) { //nolint:unparam // of an interface
	all := true
	for _, c := range s.shares {
		if c != nil && c.takes && s.counts(c, s.pos) {
			all = all && c.back.value*8 >= s.pos
		}
	}
	return all, nil
}

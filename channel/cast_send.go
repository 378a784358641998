package channel

import "fmt"

// Read ring with SENDs: the sender SENDs each reader how far it is, for each
// message, and readers READ all that is new to them. A reader that was evicted is
// SENT that it was.
//
//	bits 0 to 31 the position in units of 8 bytes, bit 32 evicted
//
// There are no more messages under way than the readers have posted receives.

const evictedBit = 1 << 32

type castSendSender struct {
	castSender
	notice notice
	words  *region  // one for each message under way, and one for the evicted
	ends   []uint64 // of the messages, by number
	slots  uint64   // how many are under way at most to the reader with the fewest receives
	sent   uint64
}

func newCastSendSender(e *end) (sending, error) {
	s := &castSendSender{}
	if err := s.make(e); err != nil {
		return s, err
	}
	n := e.posts()
	s.ends, s.slots, s.parted, s.floorOf = make([]uint64, n), uint64(n), s.part, s.floorFor
	var err error
	if s.words, err = e.newRegion(8*(n+1), false, 0); err != nil {
		return s, err
	}
	store(s.words.b, 8*n, evictedBit)
	s.notice.make(s.words)
	return s, nil
}

func (s *castSendSender) queues() queues {
	q := s.castSender.queues()
	q.send = len(s.ends)
	return q
}

func (s *castSendSender) attach(p *Peer, h *hello) error {
	if h.slots == 0 {
		return fmt.Errorf("the peer posts no receives: %w", ErrInvalid)
	}
	c := s.shares[p.index]
	c.slots = min(uint64(len(s.ends)), uint64(h.slots))
	s.slots = min(s.slots, c.slots)
	return s.castSender.attach(p, h)
}

func (s *castSendSender) offer(p *Peer, h *hello) {
	s.castSender.offer(p, h)
	h.slots = uint32(len(s.ends))
}

// floorFor is the end of the message that a reader must have given back before
// there is another one.
func (s *castSendSender) floorFor(c *share) uint64 { return s.endOf(c.slots) }

// endOf is the end of the message so many before the next.
func (s *castSendSender) endOf(before uint64) uint64 {
	if s.sent < before {
		return 0
	}
	return s.ends[(s.sent-before)%uint64(len(s.ends))]
}

func (s *castSendSender) free() error {
	err := s.castSender.free()
	if e := s.words.free(); err == nil {
		err = e
	}
	return err
}

// reserve waits for receives and places in the send queues as well. A message
// that was given back by a reader has taken its receive, which was posted again.
func (s *castSendSender) reserve(n int) ([]byte, error) {
	s.floor = s.endOf(s.slots)
	b, err := s.castSender.reserve(n)
	if blocked(err) {
		// It may be that SENDs before have failed.
		if e := s.end.reap(); e != nil {
			err = e
		}
	}
	for _, c := range s.shares {
		if err == nil && c != nil && c.takes {
			err = s.queued(c)
		}
	}
	return b, err
}

// queued tells whether a reader's queue has room, or it is evicted.
func (s *castSendSender) queued(c *share) error {
	err := c.peer.makeRoom()
	if !blocked(err) {
		return err
	}
	if why := s.heldUp(c); why != nil {
		s.evict(c, why)
		return nil
	}
	return ErrWouldBlock
}

func (s *castSendSender) commit(n int, _ *uint32) error {
	s.append(n)
	i := int(s.sent % uint64(len(s.ends)))
	s.ends[i] = s.pos
	s.sent++
	store(s.words.b, 8*i, uint64(uint32(s.pos/8)))
	for _, c := range s.shares {
		if c != nil && c.takes {
			if err := s.notice.send(c.peer, i); err != nil {
				s.evict(c, err)
			}
		}
	}
	return nil
}

// part tells a reader that it was evicted. Where its queue is full it is not: then
// it has words to READ by.
func (s *castSendSender) part(c *share) { _ = s.notice.send(c.peer, len(s.ends)) }

type castSendReader struct {
	castReader
	notices notices
	to      uint64 // where the sender is
	few     uint64 // the sender is told when so many messages were given back
	told    uint64 // messages that had been when it was
}

func newCastSendReader(e *end) (receiving, error) {
	r := &castSendReader{}
	err := r.make(e)
	if err == nil {
		err = r.notices.make(e)
	}
	return r, err
}

func (r *castSendReader) queues() queues {
	q := r.castReader.queues()
	q.recv = r.notices.count
	return q
}

func (r *castSendReader) offer(p *Peer, h *hello) {
	r.castReader.offer(p, h)
	h.slots = uint32(r.notices.count)
}

func (r *castSendReader) attach(p *Peer, h *hello) error {
	if err := r.castReader.attach(p, h); err != nil {
		return err
	}
	r.few = max(1, min(uint64(h.slots), uint64(r.notices.count))/8)
	return r.notices.attach(p)
}

// release tells the sender by how many messages were given back as well, as it
// waits for receives.
func (r *castSendReader) release(token uint64) {
	r.castReader.release(token)
	if r.ledger.first-r.told >= r.few {
		_ = r.report() // it is tried again
	}
	if r.reporter.told*r.unit == r.ledger.head {
		r.told = r.ledger.first
	}
}

func (r *castSendReader) free() error {
	err := r.castReader.free()
	if e := r.notices.words.free(); err == nil {
		err = e
	}
	return err
}

func (r *castSendReader) poll(d *delivery) error {
	return r.failed(r.tryPoll(d))
}

func (r *castSendReader) tryPoll(d *delivery) error {
	if err := r.begin(); err != nil {
		return err
	}
	r.to = max(r.to, r.have)
	// What is here goes first, then what comes at once, and what was missing of a
	// record: looking for more costs time.
	for range 3 {
		none, err := r.next(d)
		switch {
		case none:
			return r.spoilt("no record at %d of the ring", r.offset(r.pos))
		case !blocked(err):
			return err
		case r.number == 0:
			if err := r.ask(); err != nil {
				return err
			}
		}
		if ok, err := r.fetched(); !ok {
			return wouldBlock(err)
		}
	}
	return ErrWouldBlock
}

// ask READs what is new, after it has looked whether there is.
func (r *castSendReader) ask() error {
	if r.have == r.to {
		if err := r.hear(); err != nil {
			return err
		}
	}
	if r.have == r.to {
		return r.idle()
	}
	return r.fetch(r.to)
}

// hear takes in what was SENT.
func (r *castSendReader) hear() error {
	if err := r.notices.look(); err != nil {
		return err
	}
	for {
		w, err := r.notices.next()
		switch {
		case blocked(err):
			return nil
		case err == nil && w&evictedBit != 0:
			r.peer.lose(ErrLagged)
			return r.peer.gone
		case err == nil:
			r.to, err = r.known(r.to, uint32(w))
		}
		if err != nil {
			return err
		}
	}
}

// watch has one wait for a SEND, unless a READ is to come.
func (r *castSendReader) watch() watch {
	if r.number != 0 || !r.begun {
		return r.castReader.watch()
	}
	return watch{cq: r.end.recvs}
}

package channel

import "fmt"

// Read slot with a SEND: the sender SENDs a word for each message, which has its
// number and its length, and the receiver READs it. What overtakes another on the
// way waits for it, so that messages come in order.
//
//	bits 0 to 31 the length, 32 to 63 the lower part of the message's number

type fetchSendSender struct {
	fetchSender
	notice notice
}

func newFetchSendSender(e *end) (sending, error) {
	s := &fetchSendSender{}
	err := s.make(e, false)
	s.notice.make(s.words)
	return s, err
}

func (s *fetchSendSender) queues() queues {
	q := s.fetchSender.queues()
	q.send = s.end.posts() // fewer than there are words: none is used again before it was sent
	return q
}

func (s *fetchSendSender) attach(p *Peer, h *hello) error {
	if h.slots == 0 {
		return fmt.Errorf("the peer posts no receives: %w", ErrInvalid)
	}
	s.limit = min(s.count, uint64(h.slots), uint64(s.end.posts()))
	return s.fetchSender.attach(p, h)
}

func (s *fetchSendSender) reserve(n int) ([]byte, error) {
	b, err := s.fetchSender.reserve(n)
	switch {
	case err == nil:
		err = s.peer.makeRoom()
	case blocked(err) && s.peer != nil:
		// It may be that the SENDs before have failed.
		if err = s.end.reap(); err == nil {
			err = wouldBlock(s.peer.gone)
		}
	}
	return b, err
}

func (s *fetchSendSender) commit(n int, _ *uint32) error {
	i := int(s.sent % s.count)
	store(s.words.b, 8*i, uint64(n)|s.sent<<32)
	err := s.notice.send(s.peer, i)
	if err == nil {
		s.sent++
	}
	return err
}

type fetchSendReader struct {
	apart
	notices notices
	known   []told // by number of the message
}

// told is what was told of a message; its number is counted from 1.
type told struct {
	number uint64
	n      int
}

func newFetchSendReader(e *end) (receiving, error) {
	r := &fetchSendReader{}
	r.news = r
	err := r.make(e)
	if err == nil {
		err = r.notices.make(e)
	}
	return r, err
}

func (r *fetchSendReader) queues() queues {
	q := r.apart.queues()
	q.recv = r.notices.count
	return q
}

func (r *fetchSendReader) offer(p *Peer, h *hello) {
	r.apart.offer(p, h)
	h.slots = uint32(r.notices.count)
}

func (r *fetchSendReader) attach(p *Peer, h *hello) error {
	if err := r.apart.attach(p, h); err != nil {
		return err
	}
	r.known = make([]told, r.count)
	return r.notices.attach(p)
}

func (r *fetchSendReader) free() error {
	err := r.apart.free()
	if e := r.notices.words.free(); err == nil {
		err = e
	}
	return err
}

// news implements it.
func (r *fetchSendReader) look() error {
	if err := r.notices.look(); err != nil {
		return err
	}
	for {
		w, err := r.notices.next()
		switch {
		case err == nil:
		case blocked(err):
			if _, ok := r.length(r.asked); !ok && r.asked == r.seq {
				return r.idle()
			}
			return nil
		default:
			return err
		}
		ahead := uint64(uint32(w>>32) - uint32(r.asked))
		number := r.asked + ahead
		known := &r.known[number%r.count]
		if ahead >= r.count || number-r.ledger.head >= r.count || known.number == number+1 || uint32(w) > uint32(r.size) {
			return r.spoilt("word of message %d with a length of %d, %d is next", uint32(w>>32), uint32(w), r.asked)
		}
		*known = told{number + 1, int(uint32(w))}
	}
}

func (r *fetchSendReader) length(number uint64) (int, bool) {
	t := &r.known[number%r.count]
	return t.n, t.number == number+1
}

// watch has one wait for a SEND, unless a READ is to come.
func (r *fetchSendReader) watch() watch {
	if r.waiting() {
		return watch{cq: r.reading.end.sends}
	}
	return watch{cq: r.reading.end.recvs}
}

package channel

// Read slot with the bell in it: the receiver READs the whole slot that is next
// again and again, until the word that it begins with is that of a new message.
// As the bytes of a READ are fetched in ascending order, what is behind the word
// was fetched when the word was there already: nothing is in a slot's word before
// the message is behind it.
//
// The sender posts nothing.

type fetchBellSender struct{ fetchSender }

func newFetchBellSender(e *end) (sending, error) {
	s := &fetchBellSender{}
	return s, s.make(e, true)
}

func (s *fetchBellSender) commit(n int, _ *uint32) error {
	store(s.slots.b, int(s.sent%s.count*s.stride), s.word(n))
	s.sent++
	return nil
}

type fetchBellReader struct{ fetchReader }

func newFetchBellReader(e *end) (receiving, error) {
	r := &fetchBellReader{}
	return r, r.make(e)
}

func (r *fetchBellReader) attach(p *Peer, h *hello) error { return r.fetchReader.attach(p, h, true) }

func (r *fetchBellReader) poll(d *delivery) error {
	if r.peer == nil {
		return ErrWouldBlock
	}
	at := r.place(r.seq)
	if r.number == 0 {
		if r.full(r.seq) {
			return wouldBlock(r.peer.gone)
		}
		if err := r.look(r.local, at, r.slots, r.seq%r.count*r.stride, int(r.stride)); err != nil {
			return err
		}
	}
	if ok, err := r.arrived(r.number); !ok {
		return wouldBlock(err)
	}
	r.number = 0
	n, ok := opened(load(r.local.b, at), r.reporter.salt, r.seq, r.count)
	switch {
	case !ok:
		return r.idle()
	case n > r.size:
		return r.spoilt("a message of %d bytes in a slot of %d", n, r.size)
	}
	*d = r.deliver(n)
	return nil
}

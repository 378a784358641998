package channel

// Read ring with a bell in each record: the receiver READs a window of the ring
// again and again, and takes all records that are whole. As the bytes of a READ
// are fetched in ascending order, what is behind a record's word was fetched when
// the word was there already. What is behind the last record is READ again.
//
// The sender posts nothing. The window grows as long as it is full.

const (
	shortestWindow = 1 << 10
	longestWindow  = 64 << 10
)

type castBellSender struct{ castSender }

func newCastBellSender(e *end) (sending, error) {
	s := &castBellSender{}
	return s, s.make(e)
}

func (s *castBellSender) commit(n int, _ *uint32) error {
	s.append(n)
	return nil
}

type castBellReader struct {
	castReader
	window uint64
	began  uint64 // where the last READ did
	empty  bool   // it brought no record so far
}

func newCastBellReader(e *end) (receiving, error) {
	r := &castBellReader{window: shortestWindow}
	return r, r.make(e)
}

func (r *castBellReader) poll(d *delivery) error {
	return r.failed(r.tryPoll(d))
}

func (r *castBellReader) tryPoll(d *delivery) error {
	if err := r.begin(); err != nil {
		return err
	}
	// What is here; what a READ brings at once; and what was missing of a record.
	for range 3 {
		none, err := r.next(d)
		if !blocked(err) {
			r.empty = false
			return err
		}
		if r.number == 0 {
			if r.fit(none); none && r.empty {
				r.empty = false
				return r.idle()
			}
			r.began = r.have
			if err := r.fetch(max(r.need, r.have+r.window)); err != nil {
				return err
			}
		}
		if ok, err := r.fetched(); !ok {
			return wouldBlock(err)
		}
		r.empty = true
	}
	return ErrWouldBlock
}

// fit fits the window to what the last READ brought, and forgets what of it is
// behind the last record.
func (r *castBellReader) fit(none bool) {
	switch {
	case !none && r.have > r.began: // it was full
		r.window = min(2*r.window, longestWindow, r.length/4)
	case none && 4*(r.pos-min(r.began, r.pos)) < r.window:
		r.window = max(r.window/2, shortestWindow)
	}
	if none {
		r.have, r.began = r.pos, r.pos
	}
}

package channel

import "heddle/verbs"

// Read slot with a separate bell: the words of all slots lie together, and the
// receiver READs some of them, from that of the next message on, until there are
// new ones; it then READs those messages, all at once. A word is stored after its
// message, and the message READ after the word has come, so that no order is
// needed.
//
// The sender posts nothing.

type fetchFlagSender struct{ fetchSender }

func newFetchFlagSender(e *end) (sending, error) {
	s := &fetchFlagSender{}
	return s, s.make(e, false)
}

func (s *fetchFlagSender) commit(n int, _ *uint32) error {
	store(s.words.b, int(8*(s.sent%s.count)), s.word(n))
	s.sent++
	return nil
}

// flagsAtOnce is how many words are READ together.
const flagsAtOnce = 16

type fetchFlagReader struct {
	apart
	flags      remote
	words      *region // what is known of them, each in its place
	until, end uint64  // the words before that message are known, or are being READ
}

func newFetchFlagReader(e *end) (receiving, error) {
	r := &fetchFlagReader{}
	r.news = r
	return r, r.make(e)
}

func (r *fetchFlagReader) attach(p *Peer, h *hello) (err error) {
	if err = r.apart.attach(p, h); err != nil {
		return err
	}
	r.flags = h.regions[2]
	r.words, err = r.reading.end.newRegion(int(8*r.count), false, verbs.LocalWrite)
	return err
}

func (r *fetchFlagReader) free() error {
	err := r.apart.free()
	if e := r.words.free(); err == nil {
		err = e
	}
	return err
}

func (r *fetchFlagReader) length(number uint64) (int, bool) {
	if number >= r.until {
		return 0, false
	}
	return opened(load(r.words.b, int(8*(number%r.count))), r.reporter.salt, number, r.count)
}

// news implements it.
func (r *fetchFlagReader) look() error {
	if r.number != 0 {
		ok, err := r.arrived(r.number)
		if !ok {
			return err
		}
		r.number, r.until = 0, r.end
		if _, ok := r.length(r.asked); !ok {
			return r.idle()
		}
	}
	if _, ok := r.length(r.asked); ok || r.asked > r.seq || r.full(r.asked) {
		return nil
	}
	i := r.asked % r.count
	n := min(flagsAtOnce, r.count-i)
	r.end = r.asked + n
	return r.reading.look(r.words, int(8*i), r.flags, 8*i, int(8*n))
}

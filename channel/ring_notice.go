package channel

import (
	"errors"
	"fmt"

	"heddle/verbs"
)

// Rings whose receiver learns of each message by a completion, its notice: of its
// number and length. Messages are taken in the order of their numbers, whichever
// completes first, and where one lies follows from the lengths of those before it.
// A message of no bytes uses a word of the ring, so that the head tells of it.
//
// Each takes a receive. There are as many as the receiver's Config.Slots, each of
// which is posted again before its message is taken; a sender never has more
// messages under way that the head has not passed.

// noticeSender is what the senders of such rings share.
type noticeSender struct {
	*ringSender
	number uint64   // of the next message
	ends   []uint64 // where the last ones end in the ring, by number
}

func newNoticeSender(e *end) *noticeSender { return &noticeSender{ringSender: newRingSender(e)} }

func (s *noticeSender) attach(p *Peer, h *hello) error {
	if h.slots == 0 {
		return fmt.Errorf("peer's ring without receives: %w", ErrInvalid)
	}
	err := s.ringSender.attach(p, h)
	if err == nil {
		s.ends = make([]uint64, h.slots)
	}
	return err
}

// used is how much of the ring a message takes.
func used(n int) uint64 { return max(8, uint64(padded(n))) }

// last is where the message ends whose receive the next one takes.
func (s *noticeSender) last() *uint64 { return &s.ends[s.number%uint64(len(s.ends))] }

// lendFor is lend for a message, which needs a receive too.
func (s *noticeSender) lendFor(message, n, requests int) ([]byte, error) {
	need := used(message)
	if s.peer != nil {
		// As much as is only there when that one was given back.
		need = max(need, *s.last()+s.length-min(s.pos, *s.last()+s.length))
	}
	return s.lend(need, n, requests)
}

// sent counts a message.
func (s *noticeSender) sent(n int) {
	s.advance(used(n))
	*s.last() = s.pos
	s.number++
}

// noticeReceiver is what the receivers of such rings share.
type noticeReceiver struct {
	*ringReceiver
	// tells reads a notice.
	tells   func(*verbs.WC) (number uint32, n uint64, ok bool)
	buffers *region // of the receives, a word for each; nil where they have none
	recv    verbs.RecvWR
	failed  error    // of posting the first receives
	next    uint64   // number of the message that is taken next
	came    []uint64 // by number: 1 more than the length of one that waits for its turn
	wcs     [16]verbs.WC
}

func newNoticeReceiver(e *end) (*noticeReceiver, error) {
	r, err := newRingReceiver(e, nil)
	if err != nil {
		return nil, err
	}
	slots := e.cfg.Slots
	if most := e.t.dev.Attr().MaxQPWR; most > 0 {
		slots = min(slots, most)
	}
	r.lazy = 0 // the sender counts messages as well
	return &noticeReceiver{ringReceiver: r, came: make([]uint64, slots)}, nil
}

func (r *noticeReceiver) queues() queues {
	q := r.ringReceiver.queues()
	q.recv = len(r.came)
	return q
}

func (r *noticeReceiver) offer(p *Peer, h *hello) {
	r.ringReceiver.offer(p, h)
	h.slots = uint32(len(r.came))
	for i := range r.came {
		if r.failed = r.post(uint64(i)); r.failed != nil {
			return
		}
	}
}

func (r *noticeReceiver) attach(p *Peer, h *hello) error {
	return errors.Join(r.failed, r.ringReceiver.attach(p, h))
}

func (r *noticeReceiver) free() error { return errors.Join(r.ringReceiver.free(), r.buffers.free()) }

func (r *noticeReceiver) watch() watch { return watch{cq: r.end.recvs} }

// post posts a receive.
func (r *noticeReceiver) post(id uint64) error {
	r.recv.ID = id
	if r.buffers != nil {
		r.recv.SGEs = append(r.recv.SGEs[:0], r.buffers.mr.SGE(8*int(id), 8))
	}
	return r.invited.qp.PostRecv(&r.recv)
}

func (r *noticeReceiver) poll(d *delivery) error {
	for {
		slot := &r.came[r.next%uint64(len(r.came))]
		if *slot != 0 {
			n := *slot - 1
			*slot = 0
			return r.take(d, n)
		}
		count, err := r.end.recvs.Poll(r.wcs[:])
		if err != nil {
			return err
		}
		if count == 0 {
			return r.nothing()
		}
		for i := range r.wcs[:count] {
			r.notice(&r.wcs[i])
		}
	}
}

// notice takes a completion in. After one that makes no sense, or tells of an
// error, the peer is gone.
func (r *noticeReceiver) notice(wc *verbs.WC) {
	if wc.Status != verbs.StatusOK {
		r.invited.lose(wc.Err())
	}
	if r.invited.gone != nil {
		return
	}
	number, n, ok := r.tells(wc)
	ahead := uint64(number - uint32(r.next))
	slot := &r.came[(r.next+ahead)%uint64(len(r.came))]
	if !ok || ahead >= uint64(len(r.came)) || n > r.length || *slot != 0 {
		_ = r.spoilt("a notice of no message")
		return
	}
	*slot = n + 1
	if err := r.post(wc.ID); err != nil {
		r.invited.lose(err)
	}
}

// take takes the next message.
func (r *noticeReceiver) take(d *delivery, n uint64) error {
	size := used(int(n))
	if !r.fits(size) {
		return r.spoilt("a message longer than the room")
	}
	r.next++
	at := r.at
	r.deliver(d, r.ring.b[at:at+n:at+size], r.pos+size)
	return nil
}

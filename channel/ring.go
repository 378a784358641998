package channel

import (
	"errors"
	"fmt"

	"heddle/verbs"
)

// Rings of one sender. The receiver has the ring, mapped twice, so that no message
// is cut, and, where peers can only read, a word that tells how far it has given
// back, in units of 8 bytes. The sender makes messages in a stage as large.

// ringSender is what the senders of rings share.
type ringSender struct {
	end    *end
	peer   *Peer // nil before there was one
	ring   remote
	length uint64 // of the ring
	salt   uint64
	stage  *stage
	head   *gauge
	pos    uint64 // bytes of the ring that were used, of all laps
	until  uint64 // up to where there is room, as far as is known
	at     uint64 // pos in the ring
	lap    uint64
	most   int // bytes of a record
	cap    int // what is reserved
	wr     verbs.SendWR
}

func newRingSender(e *end) *ringSender {
	return &ringSender{end: e, wr: verbs.SendWR{Op: verbs.OpWrite, SGEs: make([]verbs.SGE, 1)}}
}

func (s *ringSender) queues() queues { return queues{send: 128} }

func (s *ringSender) offer(*Peer, *hello) {}

func (s *ringSender) attach(p *Peer, h *hello) (err error) {
	page := uint64(4096)
	switch {
	case s.peer != nil:
		return fmt.Errorf("a peer was there before: %w", ErrBusy)
	case len(h.regions) < 2 || h.ring < page || h.ring%page != 0 || !h.regions[0].holds(2*h.ring) || !h.regions[1].holds(8):
		return fmt.Errorf("peer's ring of %d bytes: %w", h.ring, ErrInvalid)
	}
	if err := s.end.affords(h.ring); err != nil {
		return err
	}
	s.ring, s.length, s.salt = h.regions[0], h.ring, h.salt
	if s.stage, err = s.end.newStage(p, int(h.ring)); err != nil {
		return err
	}
	if s.head, err = s.end.newGauge(p, h.regions[1], h.salt); err != nil {
		return err
	}
	s.peer, s.until = p, s.length
	s.wr.RKey = s.ring.rkey
	// So long that it and the next one fit together: a sender never waits for the
	// whole ring.
	s.most = min(int(s.length/2), maxRecord)
	if most := s.end.t.caps.MaxMessage; most > 0 {
		s.most = min(s.most, most)
	}
	return nil
}

func (s *ringSender) detach(p *Peer) { p.lose(nil) }

func (s *ringSender) abort() {}

func (s *ringSender) free() error { return errors.Join(s.stage.free(), s.head.free()) }

// longest is the longest message, whose record has so many bytes more; 0 before
// there was a peer.
func (s *ringSender) longest(beside int) int {
	if s.peer == nil {
		return 0
	}
	return (s.most - beside) &^ 7
}

// maxRecord is where the numbers in a bell's word end.
const maxRecord = 1 << 26

// room tells whether so many bytes can be used, and else has the head read. Where
// it says so there is room in the send queue as well, so that Commit does not wait.
func (s *ringSender) room(n uint64) error {
	if s.peer == nil {
		return ErrWouldBlock
	}
	if err := s.peer.ready(2); err != nil {
		return err
	}
	if s.pos+n <= s.until {
		return nil
	}
	if err := s.head.look(); err != nil {
		return err
	}
	switch {
	case s.head.value*8 > s.pos:
		s.peer.lose(fmt.Errorf("a head at %d, where %d bytes were sent: %w", s.head.value*8, s.pos, ErrInvalid))
		return s.peer.gone
	case s.pos+n <= s.head.value*8+s.length:
		s.until = s.head.value*8 + s.length
		return nil
	}
	if err := s.head.ask(); err != nil {
		return err
	}
	return ErrWouldBlock
}

// lend gives n bytes of the stage for a message that uses so many bytes of the
// ring, and goes in so many requests. Commit then finds room for these: it is
// here that one waits for a peer, where a context can end it.
func (s *ringSender) lend(room uint64, n, requests int) ([]byte, error) {
	// One more, as Flush may read the head meanwhile.
	if p := s.peer; p == nil || p.gone != nil || !p.room(requests+1) || s.pos+room > s.until {
		if err := s.room(room); err != nil {
			return nil, err
		}
		if err := p.ready(requests + 1); err != nil {
			return nil, err
		}
	}
	return s.stage.take(n)
}

// credit takes in how far the peer has given back, in units of 8 bytes.
func (s *ringSender) credit(back uint32) error {
	if s.peer == nil || s.peer.gone != nil {
		return nil // reserve tells
	}
	head := ahead(s.head.value, back)
	if head*8 > s.pos {
		s.peer.lose(fmt.Errorf("a head at %d, where %d bytes were sent: %w", head*8, s.pos, ErrInvalid))
		return s.peer.gone
	}
	s.head.value, s.until = head, head*8+s.length
	return nil
}

// write sends n bytes of the stage to an offset of the ring.
func (s *ringSender) write(offset uint64, n int) error {
	s.wr.RemoteAddr = s.ring.addr + offset
	return s.stage.send(&s.wr, n)
}

// give is write for the only request of a message.
func (s *ringSender) give(offset uint64, n int) error {
	s.wr.RemoteAddr = s.ring.addr + offset
	return s.stage.give(&s.wr, n)
}

// advance goes on by n bytes, at most a lap.
func (s *ringSender) advance(n uint64) {
	s.pos += n
	if s.at += n; s.at >= s.length {
		s.at -= s.length
		s.lap++
	}
}

// settled tells whether all is with the peer: the head is read behind it.
func (s *ringSender) settled() (bool, error) {
	if s.peer == nil {
		return true, nil
	}
	if s.peer.gone != nil {
		return false, s.peer.gone
	}
	if err := s.end.reap(); err != nil {
		return false, err
	}
	if s.peer.retired == s.peer.posted {
		return true, nil
	}
	if s.peer.signaled != s.peer.posted {
		if err := s.head.look(); err != nil {
			return false, err
		}
		return false, s.head.ask()
	}
	return false, nil
}

// ringReceiver is what the receivers of rings share.
type ringReceiver struct {
	end     *end
	invited *Peer // the last one; what it writes may come before it is attached
	peer    *Peer // that was attached
	ring    *region
	control *region
	length  uint64
	salt    uint64
	pos     uint64 // what was delivered ends there
	at      uint64 // pos in the ring
	lap     uint64
	ledger  ledger
	told    uint64 // the head that was published
	// lazy is by how many bytes the head moves before it is published again: what
	// the sender does not know of is never so much that it lacks room for a message.
	lazy  uint64
	waits watch
}

// newRingReceiver makes the memory; news tells without the lock whether there may
// be a message at pos.
func newRingReceiver(e *end, news func(*ringReceiver) bool) (*ringReceiver, error) {
	r := &ringReceiver{end: e, salt: newSalt()}
	r.waits.ready = func() bool { return news(r) || e.closed.Load() || e.lost.Load() }
	var err error
	if r.ring, err = e.newRegion(e.cfg.Ring, true, verbs.LocalWrite|verbs.RemoteWrite); err != nil {
		return nil, err
	}
	r.length = uint64(r.ring.mem.Size())
	r.lazy = r.length / 8
	if r.control, err = e.newRegion(8, false, verbs.RemoteRead); err != nil {
		return nil, errors.Join(err, r.free())
	}
	r.publish()
	return r, nil
}

func (r *ringReceiver) queues() queues {
	return queues{access: verbs.RemoteWrite | verbs.RemoteRead}
}

func (r *ringReceiver) offer(p *Peer, h *hello) {
	r.invited = p
	h.ring, h.salt = r.length, r.salt
	h.regions = []remote{r.ring.remote(), r.control.remote()}
}

func (r *ringReceiver) attach(p *Peer, _ *hello) error {
	if r.peer != nil {
		return fmt.Errorf("a peer was there before: %w", ErrBusy)
	}
	r.peer = p
	return nil
}

func (r *ringReceiver) detach(p *Peer) { p.lose(nil) }

func (r *ringReceiver) free() error { return errors.Join(r.ring.free(), r.control.free()) }

func (r *ringReceiver) watch() watch { return r.waits }

// nothing is what poll gives when there is no message.
func (r *ringReceiver) nothing() error {
	if r.peer != nil && r.peer.gone != nil {
		return r.peer.gone
	}
	return ErrWouldBlock
}

// fits tells whether a record of so many bytes can be at pos.
func (r *ringReceiver) fits(n uint64) bool {
	return n <= r.length/2 && r.pos+n-r.ledger.head <= r.length
}

// deliver makes a message of bytes of the ring; what it used ends at a position.
func (r *ringReceiver) deliver(d *delivery, data []byte, end uint64) {
	r.at += end - r.pos
	if r.at >= r.length {
		r.at -= r.length
		r.lap++
	}
	r.pos = end
	d.data, d.token = data, r.ledger.deliver(end)
}

func (r *ringReceiver) release(token uint64) {
	if r.ledger.release(token) {
		r.moved()
	}
}

// moved publishes the head when it is time.
func (r *ringReceiver) moved() {
	if r.ledger.head-r.told >= r.lazy {
		r.publish()
	}
}

func (r *ringReceiver) back() uint32 { return uint32(r.ledger.head / 8) }

// pair changes nothing: nobody is told of the head.
func (r *ringReceiver) pair(*twin) {}

// publish tells how far all was given back.
func (r *ringReceiver) publish() {
	r.told = r.ledger.head
	store(r.control.b, 0, seal(uint32(r.told/8), r.salt))
}

// spoilt is a peer that wrote what no sender writes.
func (r *ringReceiver) spoilt(what string) error {
	err := fmt.Errorf("%s at %d of the ring: %w", what, r.at, ErrInvalid)
	r.invited.lose(err)
	return r.invited.gone
}

package channel

import (
	"errors"
	"fmt"

	"heddle/verbs"
)

// castReader is what the receivers of rings that are READ share. It has a ring as
// large, in which everything lies where it is in the sender's.
type castReader struct {
	reading
	ring   remote
	page   remote
	start  *region
	length uint64
	salt   uint64
	shift  uint64 // of positions to offsets
	begun  bool   // it is known where the sender was
	pos    uint64 // of the record that is next
	have   uint64 // what is before it is here, a multiple of 8 as all positions
	until  uint64 // and before that, when the READ that is under way is done
	need   uint64 // the end of the record at pos, as far as is known
	lagged error
}

func (r *castReader) make(e *end) (err error) {
	if err = r.reading.make(e); err != nil {
		return err
	}
	r.unit = 8
	r.start, err = e.newRegion(startSize, false, verbs.LocalWrite)
	return err
}

func (r *castReader) attach(p *Peer, h *hello) (err error) {
	const page = 4096
	switch {
	case r.peer != nil:
		return fmt.Errorf("a peer was there before: %w", ErrBusy)
	case len(h.regions) != 2 || h.ring < page || h.ring%page != 0 || !h.regions[0].holds(reportsEnd) || !h.regions[1].holds(2*h.ring):
		return fmt.Errorf("peer's ring of %d bytes: %w", h.ring, ErrInvalid)
	}
	if err := r.end.affords(h.ring); err != nil {
		return err
	}
	r.page, r.ring, r.length, r.salt, r.lazy = h.regions[0], h.regions[1], h.ring, h.salt, h.ring/8
	if r.local, err = r.end.newRegion(int(h.ring), true, verbs.LocalWrite); err == nil {
		r.peer = p
	}
	return err
}

func (r *castReader) free() error {
	err := r.reading.free()
	if e := r.start.free(); err == nil {
		err = e
	}
	return err
}

// begin READs where the sender was when it attached this reader, until it has.
func (r *castReader) begin() error {
	switch {
	case r.begun:
		return nil
	case r.peer == nil:
		return ErrWouldBlock
	case r.number == 0:
		if err := r.look(r.start, 0, r.page, 0, startSize); err != nil {
			return err
		}
	}
	if ok, err := r.arrived(r.number); !ok {
		return wouldBlock(err)
	}
	r.number = 0
	offset, ok := unseal(load(r.start.b, startOffset), r.salt)
	position, both := unseal(load(r.start.b, startPosition), r.salt)
	if !ok || !both {
		return ErrWouldBlock
	}
	if uint64(offset)*8 >= r.length {
		return r.spoilt("a begin at %d of the ring", uint64(offset)*8)
	}
	r.pos = uint64(position) * 8
	r.have, r.until, r.ledger.head = r.pos, r.pos, r.pos
	r.shift = r.length + uint64(offset)*8 - r.pos%r.length
	r.reporter.attach(r.peer, r.page, r.salt, r.pos/8)
	r.begun = true
	return nil
}

func (r *castReader) offset(pos uint64) uint64 { return (pos + r.shift) % r.length }

// fetch READs from what is here on to a position, or as far as there is room and
// one READ brings. It is ErrWouldBlock where there is none.
func (r *castReader) fetch(to uint64) error {
	to = min(to, r.ledger.head+r.length, max(r.need, r.have+longestWindow))
	if most := r.end.t.caps.MaxMessage &^ 7; most > 0 {
		to = min(to, r.have+uint64(most))
	}
	if to <= r.have {
		return wouldBlock(r.peer.gone)
	}
	at := r.offset(r.have)
	if err := r.look(r.local, int(at), r.ring, at, int(to-r.have)); err != nil {
		return err
	}
	r.until = to
	return nil
}

// fetched tells whether no READ is under way any more.
func (r *castReader) fetched() (bool, error) {
	if r.number == 0 {
		return true, nil
	}
	ok, err := r.arrived(r.number)
	if ok {
		r.number, r.have = 0, r.until
	}
	return ok, err
}

// next gives the record at pos, if all of it is here; none tells that there is no
// record, though its word is here.
func (r *castReader) next(d *delivery) (none bool, err error) {
	r.need = r.pos + 8
	if r.need > r.have {
		return false, ErrWouldBlock
	}
	at := r.offset(r.pos)
	n, ok := unseal(load(r.local.b, int(at)), saltAt(r.salt, r.pos))
	if !ok {
		return true, ErrWouldBlock
	}
	if r.need += uint64(padded(int(n))); uint64(n) > r.length/2 {
		return false, r.spoilt("a message of %d bytes in a ring of %d", n, r.length)
	}
	if r.need > r.have {
		return false, ErrWouldBlock
	}
	r.pos = r.need
	data := r.local.b[at+8 : at+8+uint64(n) : at+8+uint64(n)]
	*d = delivery{data: data, token: r.ledger.deliver(r.pos)}
	return false, nil
}

// known takes in how far the sender is, of which the lower 32 bits came; further
// than a ring can be is only a sender that has evicted this reader.
func (r *castReader) known(last uint64, low uint32) (uint64, error) {
	to := ahead(last/8, low) * 8
	if to-r.ledger.head > r.length {
		r.peer.lose(ErrLagged)
		return last, r.peer.gone
	}
	return to, nil
}

// failed is what a call gives: of an evicted reader, whose key to the ring was
// closed, that it was.
func (r *castReader) failed(err error) error {
	switch {
	case err == nil || blocked(err):
		return err
	case r.lagged != nil:
		return r.lagged
	case errors.Is(err, ErrLagged) || isRevoked(err):
		r.lagged = fmt.Errorf("%w (at %d of the ring)", ErrLagged, r.offset(r.pos))
		return r.lagged
	}
	return err
}

// isRevoked tells whether a READ failed as there is no such key.
func isRevoked(err error) bool {
	var op *verbs.OpError
	return errors.As(err, &op) && op.Status == verbs.StatusRemoteAccess
}

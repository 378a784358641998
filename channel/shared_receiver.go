package channel

import (
	"errors"
	"fmt"

	"heddle/verbs"
)

// sharedRing is what the receivers of rings of many senders share. Positions
// count cells.
type sharedRing struct {
	end    *end
	ring   *region
	head   *region
	tail   *region // the devices' only
	cells  uint64
	salt   uint64
	pos    uint64 // what was delivered, or skipped, ends there
	ledger ledger
	waits  watch
	failed error // a record was none
	// wipe makes cells ready for the next lap.
	wipe func(from, to uint64)
}

// newSharedRing makes the memory; news tells without the lock whether there may be
// a message at pos.
func newSharedRing(e *end, news func() bool) (*sharedRing, error) {
	r := &sharedRing{end: e, salt: newSalt()}
	if news != nil {
		r.waits.ready = func() bool { return e.closed.Load() || e.lost.Load() || news() }
	}
	var errs [3]error
	r.ring, errs[0] = e.newRegion(e.cfg.Ring, true, verbs.LocalWrite|verbs.RemoteWrite)
	r.head, errs[1] = e.newRegion(8, false, verbs.RemoteRead)
	r.tail, errs[2] = e.newRegion(8, false, verbs.LocalWrite|verbs.RemoteAtomic)
	if err := errors.Join(errs[:]...); err != nil {
		return nil, errors.Join(err, r.free())
	}
	r.cells = uint64(r.ring.mem.Size()) / cellSize
	r.publish()
	return r, nil
}

func (r *sharedRing) queues() queues {
	return queues{access: verbs.RemoteWrite | verbs.RemoteRead | verbs.RemoteAtomic}
}

func (r *sharedRing) offer(p *Peer, h *hello) {
	h.ring, h.salt, h.slot = r.cells*cellSize, r.salt, uint32(p.index)
	h.regions = []remote{r.ring.remote(), r.head.remote(), r.tail.remote()}
}

func (r *sharedRing) attach(*Peer, *hello) error { return r.failed }

func (r *sharedRing) detach(p *Peer) { p.lose(nil) }

func (r *sharedRing) free() error {
	return errors.Join(r.ring.free(), r.head.free(), r.tail.free())
}

func (r *sharedRing) watch() watch { return r.waits }

// publish tells how far all was given back.
func (r *sharedRing) publish() { store(r.head.b, 0, seal(uint32(r.ledger.head), r.salt)) }

// nothing is what poll gives when there is no message.
func (r *sharedRing) nothing() error {
	peers := r.end.peers
	switch {
	case r.failed != nil:
		return r.failed
	case r.end.cfg.Peers == 1 && len(peers) > 0 && peers[0] != nil && peers[0].gone != nil:
		return peers[0].gone
	default:
		return ErrWouldBlock
	}
}

// at is the offset of pos in the ring.
func (r *sharedRing) at() uint64 { return r.pos % r.cells * cellSize }

// unseal gives what a sealed word says, if it is one at pos.
func (r *sharedRing) unseal(w uint64) (uint32, bool) { return unseal(w, placeSalt(r.salt, r.pos)) }

// fits tells whether a record of so many cells can be at pos.
func (r *sharedRing) fits(cells uint64) bool {
	return cells > 0 && cells <= r.cells/2 && r.pos+cells-r.ledger.head <= r.cells
}

// holds tells whether what a record says of itself can be so, where it has so many
// bytes beside the message.
func (r *sharedRing) holds(f facts, beside uint64) bool {
	return r.fits(f.cells()) && beside+(f.length()+7)&^7 <= f.cells()*cellSize && f.slot() < len(r.end.peers)
}

// deliver makes a message of a record.
func (r *sharedRing) deliver(data []byte, source int, cells uint64) delivery {
	r.pos += cells
	return delivery{data: data, source: source, token: r.ledger.deliver(r.pos)}
}

// message delivers a record whose message begins so many bytes behind its place.
func (r *sharedRing) message(f facts, beside uint64, source int) delivery {
	from := r.at() + beside
	n := f.length()
	return r.deliver(r.ring.b[from:from+n:from+(n+7)&^7], source, f.cells())
}

// skip passes a place without a message.
func (r *sharedRing) skip(cells uint64) error {
	if !r.fits(cells) {
		return r.spoilt("a gap longer than the room", -1)
	}
	r.pos += cells
	r.release(r.ledger.deliver(r.pos))
	return nil
}

func (r *sharedRing) release(token uint64) {
	from := r.ledger.head
	if !r.ledger.release(token) {
		return
	}
	if r.wipe != nil {
		r.wipe(from, r.ledger.head)
	}
	r.publish()
}

// spoilt is a ring in which is what no sender writes. Nobody can use it any more;
// source is whose it says it is, -1 if it does not.
func (r *sharedRing) spoilt(what string, source int) error {
	if r.failed != nil {
		return r.failed
	}
	who := "some peer"
	if source >= 0 {
		who = fmt.Sprintf("peer %d", source)
	}
	r.failed = fmt.Errorf("%w: %s wrote %s at cell %d of the ring that all share: %w", ErrPeerGone, who, what, r.pos, ErrInvalid)
	for _, p := range r.end.peers {
		if p != nil {
			p.lose(r.failed)
			_ = p.qp.Modify(verbs.Err) // so that they learn of it
		}
	}
	return r.failed
}

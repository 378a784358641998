package channel

import (
	"errors"
	"slices"
	"time"

	"heddle/verbs"
)

// ringEpoch is the receiver's ring of an epoch. Positions count cells.
type ringEpoch struct {
	number uint64
	salt   uint64
	ring   *region
	bells  *region  // of kinds that have them
	came   []uint32 // the same: by cell, 1 more than whose record has come there
	copies []byte   // the same: of the messages, at their places
	copied uint64   // the same: cells of the record at pos that were copied
	cells  uint64
	pos    uint64 // what was delivered, or skipped, ends there
	ledger ledger
	held   int // messages that the caller has

	closed bool
	since  time.Time // it was closed
	limit  uint64    // nobody may write from there on
	end    uint64    // no place begins from there on
	gaps   []gap     // what is not accounted for before that, in order
}

// gap is a part of a closed ring that has one place or several, of which the first
// begins where it does.
type gap struct{ from, to uint64 }

// newEpoch makes a ring of zeroes.
func (r *sharedRing) newEpoch(number uint64) (*ringEpoch, error) {
	e := r.end
	c := &ringEpoch{number: number, salt: epochSalt(r.salt, number)}
	var err error
	if c.ring, err = e.newRegion(e.cfg.Ring, true, verbs.LocalWrite|verbs.RemoteWrite); err != nil {
		return nil, err
	}
	c.cells = uint64(c.ring.mem.Size()) / cellSize
	if r.furnish != nil {
		if err := r.furnish(c); err != nil {
			return nil, errors.Join(err, c.free(e))
		}
	}
	return c, nil
}

// free gives the memory back.
func (c *ringEpoch) free(e *end) error {
	if c == nil {
		return nil
	}
	for _, r := range []*region{c.ring, c.bells} {
		if r != nil {
			e.registered -= r.mem.Size()
		}
	}
	return errors.Join(c.ring.free(), c.bells.free())
}

// at is the offset of a place in the ring.
func (c *ringEpoch) at(pos uint64) uint64 { return pos % c.cells * cellSize }

// unseal gives what a sealed word says, if it is one of a place.
func (c *ringEpoch) unseal(w, pos uint64) (uint32, bool) { return unseal(w, placeSalt(c.salt, pos)) }

// fits tells whether a record of so many cells can be at a place.
func (c *ringEpoch) fits(pos, cells uint64) bool {
	limit := c.ledger.head + c.cells
	if c.closed {
		limit = c.limit
	}
	return cells > 0 && cells <= c.cells/2 && pos+cells <= limit
}

// record is that of facts at a place whose message begins so many bytes behind it,
// in a record that has so many beside it.
func (c *ringEpoch) record(f facts, pos, begin, beside uint64) record {
	rec := record{facts: f, source: f.slot()}
	n := f.length()
	switch {
	case !c.fits(pos, f.cells()):
		rec.wrong = "a record longer than the room"
	case beside+(n+7)&^7 > f.cells()*cellSize:
		rec.wrong = "a message longer than its record"
	default:
		from := c.at(pos) + begin
		rec.data = c.ring.b[from : from+n : from+(n+7)&^7]
	}
	return rec
}

// skipped is the record of a place without a message.
func (c *ringEpoch) skipped(cells uint32, pos uint64) record {
	rec := record{facts: buried(cells), source: -1}
	if !c.fits(pos, rec.cells()) || rec.cells() != uint64(cells) {
		rec.wrong = "a gap longer than the room"
	}
	return rec
}

// close ends an epoch with what the tail was then.
func (c *ringEpoch) close(tail uint64, now time.Time) {
	c.closed, c.since = true, now
	c.limit, c.end = c.ledger.head+c.cells, c.pos
	c.extend(tail)
}

// extend takes in that there are places up to a tail.
func (c *ringEpoch) extend(tail uint64) {
	if end := min(placeOf(tail), c.limit); epochOf(tail) == uint16(c.number) && end > c.end {
		c.gaps = append(c.gaps, gap{c.end, end})
		c.end = end
	}
}

// fill accounts for a record in a gap.
func (c *ringEpoch) fill(i int, pos, cells uint64) {
	g := c.gaps[i]
	rest := []gap{{g.from, pos}, {pos + cells, g.to}}
	rest = slices.DeleteFunc(rest, func(g gap) bool { return g.from == g.to })
	c.gaps = slices.Replace(c.gaps, i, i+1, rest...)
}

// A closed ring is kept as long as somebody may be late there, but no more than
// maxClosed of them. An older one goes for the next, when it was closed so long ago.
const (
	maxClosed   = 4
	leastClosed = time.Second
)

// look has the receiver go on without who holds it up, when that is due. It tells
// whether there may be something new to be found.
func (r *sharedRing) look() bool {
	if !r.owes() {
		r.since = time.Time{}
		return false
	}
	c, tail := r.now, load(r.tail.b, 0)
	if int16(epochOf(tail)-uint16(c.number)) < 0 {
		r.revert()
		return true
	}
	if c.pos-c.ledger.head > c.cells/2 { // it may be that the caller has to release something first
		r.since = time.Time{}
		return false
	}
	switch now := r.clock(); {
	case r.since.IsZero() || r.stuck != c.pos:
		r.since, r.stuck = now, c.pos
	case now.Sub(r.since) >= r.end.cfg.Stall:
		return r.next(now)
	}
	return false
}

// owes tells whether somebody has a place where nothing was found. It is called
// without the lock too.
func (r *sharedRing) owes() bool { return load(r.tail.b, 0) != tailOf(r.now.number, r.now.pos) }

// next begins an epoch, unless too many rings are kept.
func (r *sharedRing) next(now time.Time) bool {
	r.drop(now)
	if len(r.closed) == maxClosed {
		if c := r.closed[0]; c.held > 0 || now.Sub(c.since) < leastClosed {
			return false
		}
		r.retire(0)
	}
	c, err := r.newEpoch(r.now.number + 1)
	if err != nil {
		return false // the one who holds it up may go on
	}
	r.begin(c, now)
	r.since = time.Time{}
	return true
}

// begin has senders find a ring, and closes the one before. The order is what makes
// it safe: who gets a place in the ring finds its entry, and who finds the other one
// closed gets a place in this one.
func (r *sharedRing) begin(c *ringEpoch, now time.Time) {
	b := r.entry(c)
	store(b, entryHead, seal(0, c.salt))
	course{c.ring.remote(), c.bells.remote()}.put(b, c.salt)
	store(b, entryNumber, seal(uint32(uint16(c.number)), r.salt))
	old := r.now
	r.now = c
	tail := swap(r.tail.b, 0, tailOf(c.number, 0))
	if old == nil {
		return
	}
	old.close(tail, now)
	r.closed = append(r.closed, old)
	store(r.entry(old), entryHead, seal(uint32(old.ledger.head), ^old.salt))
}

// revert takes in that a device had loaded the tail before it was exchanged, and
// stored it after: what it added was to the epoch before.
func (r *sharedRing) revert() {
	tail := swap(r.tail.b, 0, tailOf(r.now.number, 0))
	for _, c := range r.closed {
		c.extend(tail)
	}
}

func (r *sharedRing) entry(c *ringEpoch) []byte {
	at := entryOf(c.number)
	return r.directory.b[at : at+entrySize]
}

// drop frees the rings that nobody will write to any more.
func (r *sharedRing) drop(now time.Time) {
	for i := len(r.closed) - 1; i >= 0; i-- {
		c := r.closed[i]
		// A device may still be about to store the tail.
		settled := len(c.gaps) == 0 && now.Sub(c.since) >= r.end.cfg.Stall
		if c.held == 0 && (settled || r.allBeyond(c)) {
			r.retire(i)
		}
	}
}

// allBeyond tells whether all peers have sent in a later epoch, or are gone.
func (r *sharedRing) allBeyond(c *ringEpoch) bool {
	for _, p := range r.end.peers {
		if p != nil && p.gone == nil && r.latest[p.index] <= c.number {
			return false
		}
	}
	return true
}

// retire frees a closed ring. Who writes to it later loses its connection.
func (r *sharedRing) retire(i int) {
	c := r.closed[i]
	store(r.entry(c), entryNumber, seal(noMore|uint32(uint16(c.number)), r.salt))
	r.closed = slices.Delete(r.closed, i, i+1)
	_ = c.free(r.end) // nobody could do anything about it
}

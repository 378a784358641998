package channel

import (
	"errors"
	"time"

	"heddle/verbs"
)

// sharedRing is what the receivers of rings of many senders share.
type sharedRing struct {
	end       *end
	tail      *region // the devices', but that an epoch ends by it
	directory *region
	salt      uint64
	now       *ringEpoch
	closed    []*ringEpoch // older ones, in order
	latest    []uint64     // by peer: the newest epoch of a message of its
	turns     int          // since closed rings were looked at
	waits     watch
	failed    error // a record was none
	clock     func() time.Time
	since     time.Time // the record at stuck has been waited for
	stuck     uint64

	// furnish makes what a kind has beside the ring; nil where it has nothing.
	furnish func(*ringEpoch) error
	// rung tells whether there is a record at a place, all of it. It is called
	// without the lock too.
	rung func(c *ringEpoch, pos uint64) bool
	// read gives that record; ok is false where rung is, or nothing is complete yet.
	read func(c *ringEpoch, pos uint64) (rec record, ok bool)
	// wipe makes cells ready for the next lap; nil where nothing is to be done.
	wipe func(c *ringEpoch, from, to uint64)
	// more has the kind see whether there is something that it was not told of yet;
	// nil where memory tells all.
	more func() (bool, error)
}

// setUp makes the memory, after the kind has set its functions.
func (r *sharedRing) setUp(e *end) error {
	r.end, r.salt, r.clock = e, newSalt(), time.Now
	r.waits.ready = r.stirs
	var errs [2]error
	r.directory, errs[0] = e.newRegion(entries*entrySize, false, verbs.RemoteRead)
	r.tail, errs[1] = e.newRegion(8, false, verbs.LocalWrite|verbs.RemoteAtomic)
	err := errors.Join(errs[:]...)
	if err == nil {
		var c *ringEpoch
		if c, err = r.newEpoch(0); err == nil {
			r.begin(c, time.Time{})
			return nil
		}
	}
	return errors.Join(err, r.free())
}

func (r *sharedRing) queues() queues {
	return queues{access: verbs.RemoteWrite | verbs.RemoteRead | verbs.RemoteAtomic}
}

func (r *sharedRing) offer(p *Peer, h *hello) {
	h.ring, h.salt, h.slot = r.now.cells*cellSize, r.salt, uint32(p.index)
	h.regions = []remote{r.directory.remote(), r.tail.remote()}
	for len(r.latest) <= p.index {
		r.latest = append(r.latest, 0)
	}
	r.latest[p.index] = r.now.number
}

func (r *sharedRing) attach(*Peer, *hello) error { return r.failed }

func (r *sharedRing) detach(p *Peer) { p.lose(nil) }

func (r *sharedRing) free() error {
	err := errors.Join(r.now.free(r.end), r.directory.free(), r.tail.free())
	for _, c := range r.closed {
		err = errors.Join(err, c.free(r.end))
	}
	return err
}

// stirs tells whether poll is to be called: there is a record, or one is owed, so
// that a clock has to be looked at.
func (r *sharedRing) stirs() bool {
	if r.end.closed.Load() || r.end.lost.Load() || r.owes() || r.rung(r.now, r.now.pos) {
		return true
	}
	if len(r.closed) == 0 {
		return false
	}
	_, late := r.scan(r.front())
	return late
}

// watch looks again after a while where a record is owed.
func (r *sharedRing) watch() watch {
	if r.owes() {
		return watch{}
	}
	return r.waits
}

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

// lookEvery is how many messages come from the ring before closed ones are looked
// at.
const lookEvery = 64

func (r *sharedRing) poll(d *delivery) error {
	for r.failed == nil {
		rec, ok := r.recordAt(r.now, r.now.pos)
		if len(r.closed) > 0 && (!ok || r.mayBeLate(&rec)) && r.late(d) {
			return nil
		}
		switch {
		case ok && rec.wrong != "":
			return r.spoilt(rec.wrong, rec.source, r.now.pos)
		case ok && rec.isBuried():
			r.skip(rec.cells())
		case ok:
			r.message(&rec, d)
			return nil
		default:
			if more, err := r.news(); !more {
				return err
			}
		}
	}
	return r.failed
}

// recordAt is read, with what it says of its source looked at.
func (r *sharedRing) recordAt(c *ringEpoch, pos uint64) (rec record, ok bool) {
	rec, ok = r.read(c, pos)
	if ok && !rec.isBuried() && rec.source >= len(r.latest) && rec.wrong == "" {
		rec.wrong = "a record of nobody"
	}
	return rec, ok
}

// news tells whether something has come or changed that poll is to look at, and
// else what it gives.
func (r *sharedRing) news() (bool, error) {
	if r.more != nil {
		if more, err := r.more(); more || err != nil {
			return more, err
		}
	}
	if r.look() {
		return true, nil
	}
	if len(r.closed) > 0 {
		r.drop(r.clock())
	}
	return false, r.nothing()
}

// message delivers the record at the head of what is not delivered.
func (r *sharedRing) message(rec *record, d *delivery) {
	c := r.now
	c.pos += rec.cells()
	c.held++
	if len(r.closed) > 0 {
		r.latest[rec.source] = c.number
	}
	*d = delivery{data: rec.data, source: rec.source, token: c.ledger.deliver(c.pos)&sequence | c.number<<48}
}

// skip passes a place without a message.
func (r *sharedRing) skip(cells uint64) {
	c := r.now
	c.pos += cells
	r.giveBack(c, c.ledger.deliver(c.pos))
}

func (r *sharedRing) release(token uint64) {
	for _, c := range r.closed {
		if uint16(c.number) == uint16(token>>48) {
			c.held--
			return
		}
	}
	if c := r.now; uint16(c.number) == uint16(token>>48) {
		c.held--
		r.giveBack(c, token&sequence)
	}
}

// giveBack gives back a part of the ring, and tells how far all was.
func (r *sharedRing) giveBack(c *ringEpoch, number uint64) {
	from := c.ledger.head
	if !c.ledger.release(number) {
		return
	}
	if r.wipe != nil {
		r.wipe(c, from, c.ledger.head)
	}
	store(r.entry(c), entryHead, seal(uint32(c.ledger.head), c.salt))
}

// mayBeLate tells whether closed rings are to be looked at before a record is
// delivered: a message of its sender may be there that comes first.
func (r *sharedRing) mayBeLate(rec *record) bool {
	if rec.source >= 0 && rec.source < len(r.latest) && r.latest[rec.source] < r.now.number {
		return true
	}
	r.turns++
	return r.turns%lookEvery == 0
}

// spot is a place in a closed ring.
type spot struct {
	closed, gap int
	pos         uint64
}

// front is behind all of them.
func (r *sharedRing) front() spot { return spot{closed: len(r.closed)} }

// scan finds the first record in a closed ring, before a spot. It is called
// without the lock too.
func (r *sharedRing) scan(before spot) (spot, bool) {
	for i, c := range r.closed {
		for j, g := range c.gaps {
			for pos := g.from; pos < g.to; pos++ {
				if i > before.closed || i == before.closed && pos >= before.pos {
					return spot{}, false
				}
				if r.rung(c, pos) {
					return spot{i, j, pos}, true
				}
			}
		}
	}
	return spot{}, false
}

// late delivers a record of a closed ring. As a record may have come behind where
// the search was, and one of the same sender behind that, it looks once more at
// all before what it finds.
func (r *sharedRing) late(d *delivery) bool {
	for r.failed == nil {
		at, found := r.scan(r.front())
		for more := found; more; {
			var earlier spot
			if earlier, more = r.scan(at); more {
				at = earlier
			}
		}
		if !found {
			return false
		}
		if r.accept(at, d) {
			return true
		}
	}
	return false
}

// accept accounts for a record of a closed ring, and delivers it if it is a message.
func (r *sharedRing) accept(at spot, d *delivery) bool {
	c := r.closed[at.closed]
	rec, ok := r.recordAt(c, at.pos)
	switch {
	case !ok: // a peer has changed it
		rec = record{source: -1, wrong: "a record, and took it back"}
	case rec.wrong == "" && at.pos+rec.cells() > c.gaps[at.gap].to:
		rec.wrong = "a record over another one"
	}
	if rec.wrong != "" {
		_ = r.spoilt(rec.wrong, rec.source, at.pos)
		return false
	}
	c.fill(at.gap, at.pos, rec.cells())
	if rec.isBuried() {
		return false
	}
	c.held++
	*d = delivery{data: rec.data, source: rec.source, token: c.number << 48}
	return true
}

// spoilt is a ring in which is what no sender writes. Nobody can use it any more;
// source is whose it says it is, -1 if it does not.
func (r *sharedRing) spoilt(what string, source int, pos uint64) error {
	if r.failed != nil {
		return r.failed
	}
	r.failed = spoiltBy(what, source, pos)
	for _, p := range r.end.peers {
		if p != nil {
			p.lose(r.failed)
			_ = p.qp.Modify(verbs.Err) // so that they learn of it
		}
	}
	return r.failed
}

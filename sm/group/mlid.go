package group

import (
	"math/bits"

	"heddle/ib"
)

// slot is an MLID: free, in use by its groups, or retiring, which is when the
// switches may still have entries for it.
type slot struct {
	mlid       ib.MLID
	groups     []*group // who share it
	members    int      // of all of them
	configured int      // groups
	retiring   bool
	handed     bool  // its entries may be in the switches
	wants      Kinds // of work
	queued     Kinds // the queues that it stands in
	class      class
	classAt    int     // in Table.sharers
	last       ib.MGID // who had it last; in Table.memory
	key        ib.MGID // of the solicited-node groups that share it
}

// serves tells whether groups use the slot.
func (s *slot) serves() bool { return len(s.groups) > 0 && !s.retiring }

const mlidWords = (ib.NumMLIDs + 63) / 64

// mlidSet is a set of indices of MLIDs.
type mlidSet [mlidWords]uint64

func (s *mlidSet) has(i int) bool { return s[i/64]>>(i%64)&1 != 0 }
func (s *mlidSet) add(i int)      { s[i/64] |= 1 << (i % 64) }
func (s *mlidSet) remove(i int)   { s[i/64] &^= 1 << (i % 64) }

// allocator knows which MLIDs are free. An MLID that is reserved is free, but
// taken for others only when there is no other.
type allocator struct {
	used, reserved mlidSet
	inUse          int
}

// lowest gives the lowest index below limit that is free.
func (a *allocator) lowest(limit int) (int, bool) {
	if i, ok := a.search(limit, true); ok {
		return i, true
	}
	return a.search(limit, false)
}

func (a *allocator) search(limit int, spareReserved bool) (int, bool) {
	for w := 0; w*64 < limit; w++ {
		taken := a.used[w]
		if spareReserved {
			taken |= a.reserved[w]
		}
		if taken != ^uint64(0) {
			i := w*64 + bits.TrailingZeros64(^taken)
			return i, i < limit
		}
	}
	return 0, false
}

func index(mlid ib.MLID) int { return int(mlid - ib.FirstMLID) }

// slot gives the slot of an MLID that was ever used, nil for others.
func (t *Table) slot(mlid ib.MLID) *slot {
	if i := index(mlid); mlid.IsValid() && i < len(t.slots) {
		return t.slots[i]
	}
	return nil
}

// makeSlot gives the slot of a valid MLID.
func (t *Table) makeSlot(mlid ib.MLID) *slot {
	for len(t.slots) <= index(mlid) {
		t.slots = append(t.slots, &slot{mlid: ib.FirstMLID + ib.MLID(len(t.slots))})
	}
	return t.slots[index(mlid)]
}

// SetCap changes the number of MLIDs that may be given out; see Config.Cap.
// Groups keep what they have, even beyond it.
func (t *Table) SetCap(n int) { t.config.Cap = max(n, 0) }

// limitMLIDs is the number of MLIDs that may be given out.
func (t *Table) limitMLIDs() int { return min(t.config.Cap, ib.NumMLIDs) }

// free tells whether an MLID may be given out.
func (t *Table) free(mlid ib.MLID) bool {
	return mlid.IsValid() && index(mlid) < t.limitMLIDs() && !t.mlids.used.has(index(mlid))
}

// wish is what a new group's MLID depends on.
type wish struct {
	mgid  ib.MGID
	mlid  ib.MLID // asked for, zero for any
	first ib.GID  // the first member
	class class
	sated bool // the client gets no MLID of its own any more
}

// choose gives the MLID for a new group: that of the solicited-node groups like
// it, the one that it had, the one that it asks for, the lowest free, or one to
// share. A reason instead says why there is none.
func (t *Table) choose(w wish) (ib.MLID, Reason) {
	if mlid, ok := t.solicitedSlot(w); ok {
		return mlid, 0
	}
	if w.sated {
		if mlid, ok := t.share(w); ok {
			return mlid, 0
		}
		return 0, TooManyGroups
	}
	if mlid := t.memory[w.mgid]; t.free(mlid) {
		return mlid, 0
	}
	if t.free(w.mlid) && !t.mlids.reserved.has(index(w.mlid)) {
		return w.mlid, 0
	}
	if i, ok := t.mlids.lowest(t.limitMLIDs()); ok {
		return ib.FirstMLID + ib.MLID(i), 0
	}
	if mlid, ok := t.share(w); ok {
		return mlid, 0
	}
	if t.retiring > 0 {
		return 0, MLIDsRetiring
	}
	return 0, NoMLID
}

// attach gives a group the MLID of a slot.
func (t *Table) attach(s *slot, g *group) {
	if len(s.groups) == 0 {
		t.occupy(s)
		s.class = classOf(g)
		t.offer(s)
	}
	t.forgetLast(s)
	t.forgetLast(t.slot(t.memory[g.mgid]))
	g.slotAt = len(s.groups)
	s.groups = append(s.groups, g)
	s.configured += counted(g.configured)
	t.attract(s, g)
}

// detach takes a group off its slot.
func (t *Table) detach(s *slot, g *group) {
	last := len(s.groups) - 1
	s.groups[g.slotAt] = s.groups[last]
	s.groups[g.slotAt].slotAt = g.slotAt
	s.groups[last] = nil
	s.configured -= counted(g.configured)
	s.groups = s.groups[:last]
	if last == 0 {
		t.remember(s, g.mgid)
	}
}

// occupy takes an MLID out of the free ones.
func (t *Table) occupy(s *slot) {
	t.mlids.used.add(index(s.mlid))
	t.mlids.reserved.remove(index(s.mlid))
	t.mlids.inUse++
}

// retire lets a slot serve nobody until the switches have forgotten it.
func (t *Table) retire(s *slot) {
	t.close(s)
	s.retiring = true
	t.retiring++
	t.want(s, Vanishings)
}

// release makes the MLID of a slot without groups free.
func (t *Table) release(s *slot) {
	if s.retiring {
		t.retiring--
		t.unwant(s, Vanishings)
	} else {
		t.close(s)
	}
	s.retiring, s.handed = false, false
	t.mlids.used.remove(index(s.mlid))
	t.mlids.inUse--
}

// close ends all that goes on with a slot that serves groups.
func (t *Table) close(s *slot) {
	t.unwant(s, Changes)
	t.unwant(s, Completions)
	t.withdraw(s)
	if s.key.IsValid() {
		delete(t.solicited, s.key)
		s.key = ib.MGID{}
	}
}

// remember keeps who had an MLID last, one for each, so that the group gets it
// back where it is still free.
func (t *Table) remember(s *slot, mgid ib.MGID) {
	t.forgetLast(s)
	t.forgetLast(t.slot(t.memory[mgid]))
	s.last = mgid
	t.memory[mgid] = s.mlid
}

func (t *Table) forgetLast(s *slot) {
	if s != nil && s.last.IsValid() {
		delete(t.memory, s.last)
		s.last = ib.MGID{}
		t.mlids.reserved.remove(index(s.mlid))
	}
}

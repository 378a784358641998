package group

import (
	"time"

	"heddle/ib"
)

// Batch is work that the table hands out at once: to be routed together and
// programmed together, entries that vanish before those that come.
type Batch struct {
	ID uint64 // 0 where there is nothing to do
	// Complete are collected groups that have all their members. Their MLIDs are
	// among Changed.
	Complete []ib.MGID
	// Changed are the MLIDs that are to be routed anew, each once; see Ports.
	Changed []ib.MLID
	// Vanished are MLIDs that serve no group any more.
	Vanished []ib.MLID
}

// Kinds is a set of kinds of work.
type Kinds uint8

// The kinds of work.
const (
	Changes     Kinds = 1 << iota // of plain groups, and what Reroute asked for
	Completions                   // of collected groups
	Vanishings                    // of MLIDs
	Everything  = Changes | Completions | Vanishings
)

// Waiting tells how many MLIDs of one kind of work wait, since when, and when
// the last change came; the times are zero where none waits.
type Waiting struct {
	MLIDs       int
	First, Last time.Time
	// Final tells of Completions that no other group waits for its members, Open
	// that one does. What comes to that one counts for Last too.
	Final, Open bool
}

// queue holds slots that wait for one kind of work. One that does not wait any
// more stays in it until the next Take, so that no slot is in it twice.
type queue struct {
	slots       []*slot
	waiting     int
	first, last int64
}

// work is what is to be handed out, and what was.
type work struct {
	changed, complete, vanished queue
	last                        uint64 // ID of the latest batch
	batches                     map[uint64]*outstanding
}

// outstanding is a batch that was handed out and not acknowledged.
type outstanding struct {
	Batch
	programmed, removed bool
}

func (w *work) queue(kind Kinds) *queue {
	switch kind {
	case Completions:
		return &w.complete
	case Vanishings:
		return &w.vanished
	default:
		return &w.changed
	}
}

// want lets a slot wait for one kind of work.
func (t *Table) want(s *slot, kind Kinds) {
	q := t.work.queue(kind)
	if s.wants&kind == 0 {
		s.wants |= kind
		q.waiting++
		if q.waiting == 1 {
			q.first = t.now
		}
	}
	q.last = t.now
	if s.queued&kind == 0 {
		s.queued |= kind
		q.slots = append(q.slots, s)
	}
}

// unwant ends the wait, and tells whether there was one.
func (t *Table) unwant(s *slot, kind Kinds) bool {
	if s.wants&kind == 0 {
		return false
	}
	s.wants &^= kind
	t.work.queue(kind).waiting--
	return true
}

// Waiting tells what waits of one kind of work.
func (t *Table) Waiting(kind Kinds) Waiting {
	q := t.work.queue(kind)
	if q.waiting == 0 {
		return Waiting{}
	}
	w := Waiting{MLIDs: q.waiting, First: instant(q.first), Last: instant(q.last)}
	if kind == Completions {
		w.Final, w.Open = t.collecting == 0, t.collecting > 0
	}
	if w.Open {
		w.Last = instant(max(q.last, t.gathered))
	}
	return w
}

// Take hands out all work of the given kinds. The batch ends with Programmed,
// and with Removed where it has Vanished, or with Failed. Batches are to be
// programmed in their order: a later one may take back what an earlier one
// sets.
func (t *Table) Take(now time.Time, kinds Kinds) Batch {
	t.see(now)
	b := Batch{ID: t.work.last + 1}
	if kinds&Completions != 0 {
		t.take(Completions, func(s *slot) { t.handComplete(s, &b) })
	}
	if kinds&Changes != 0 {
		t.take(Changes, func(s *slot) { t.handChanged(s, &b) })
	}
	if kinds&Vanishings != 0 {
		t.take(Vanishings, func(s *slot) { b.Vanished = append(b.Vanished, s.mlid) })
	}
	if len(b.Changed)+len(b.Vanished) == 0 {
		return Batch{}
	}
	t.work.last = b.ID
	t.work.batches[b.ID] = &outstanding{Batch: b, removed: len(b.Vanished) == 0}
	return b
}

// take empties a queue.
func (t *Table) take(kind Kinds, hand func(*slot)) {
	q := t.work.queue(kind)
	for i, s := range q.slots {
		q.slots[i] = nil
		s.queued &^= kind
		if t.unwant(s, kind) {
			hand(s)
		}
	}
	q.slots = q.slots[:0]
}

func (t *Table) handChanged(s *slot, b *Batch) {
	t.unwant(s, Changes)
	s.handed = true
	b.Changed = append(b.Changed, s.mlid)
}

func (t *Table) handComplete(s *slot, b *Batch) {
	before := len(b.Complete)
	for _, g := range s.groups {
		if g.state == ComputingRoutes && g.batch == 0 {
			g.batch = b.ID
			b.Complete = append(b.Complete, g.mgid)
		}
	}
	if len(b.Complete) > before {
		t.handChanged(s, b)
	}
}

// Programmed tells that all switches have the entries of a batch: its collected
// groups are ready. A batch that is not known, or acknowledged already, is
// ignored here, in Removed and in Failed.
func (t *Table) Programmed(now time.Time, id uint64) {
	t.see(now)
	b := t.work.batches[id]
	if b == nil || b.programmed {
		return
	}
	b.programmed = true
	for _, mgid := range b.Complete {
		if g := t.routing(mgid, id); g != nil {
			t.move(g, Ready)
		}
	}
	t.finish(b)
}

// routing gives the group whose routes a batch still carries.
func (t *Table) routing(mgid ib.MGID, id uint64) *group {
	g := t.groups[mgid]
	if g == nil || g.state != ComputingRoutes || g.batch != id {
		return nil
	}
	return g
}

// Removed tells that no switch has entries of the batch's vanished MLIDs: they
// are free again.
func (t *Table) Removed(now time.Time, id uint64) {
	t.see(now)
	b := t.work.batches[id]
	if b == nil || b.removed {
		return
	}
	b.removed = true
	for _, mlid := range b.Vanished {
		t.commit(Entry{Kind: EntryFreed, MLID: mlid})
	}
	t.finish(b)
}

func (t *Table) finish(b *outstanding) {
	if b.programmed && b.removed {
		delete(t.work.batches, b.ID)
	}
}

// Failed puts back what of a batch was not acknowledged; it is in the next one.
func (t *Table) Failed(now time.Time, id uint64) {
	t.see(now)
	b := t.work.batches[id]
	if b == nil {
		return
	}
	delete(t.work.batches, id)
	if !b.programmed {
		t.reprogram(&b.Batch)
	}
	if b.removed {
		return
	}
	for _, mlid := range b.Vanished {
		t.want(t.slot(mlid), Vanishings)
	}
}

// reprogram lets what a batch was to program wait again.
func (t *Table) reprogram(b *Batch) {
	for _, mgid := range b.Complete {
		if g := t.routing(mgid, b.ID); g != nil {
			g.batch = 0
			t.want(t.slot(g.mlid), Completions)
		}
	}
	for _, mlid := range b.Changed {
		if s := t.slot(mlid); s.serves() && s.wants&Completions == 0 {
			t.want(s, Changes)
		}
	}
}

// Reroute asks for MLIDs to be routed anew, such as those that used a link that
// is gone. Those that serve no group are ignored.
func (t *Table) Reroute(now time.Time, mlids ...ib.MLID) {
	t.see(now)
	for _, mlid := range mlids {
		if s := t.slot(mlid); s != nil && s.serves() {
			t.want(s, Changes)
		}
	}
}

// Ports are those that an MLID is to reach.
type Ports struct {
	// Receivers get what is sent, and may send. Senders only send: they need a
	// way into the tree, and no way out to them.
	Receivers, Senders []ib.GID
}

// Reset empties the lists and keeps their memory.
func (p Ports) Reset() Ports { return Ports{p.Receivers[:0], p.Senders[:0]} }

// Ports appends the ports of an MLID to into: the union of the groups that
// share it, each port once. A collected group counts from when it is complete.
func (t *Table) Ports(mlid ib.MLID, into Ports) Ports {
	s := t.slot(mlid)
	if s == nil {
		return into
	}
	t.stamp++
	into.Receivers = t.appendPorts(into.Receivers, s, true)
	into.Senders = t.appendPorts(into.Senders, s, false)
	return into
}

func (t *Table) appendPorts(gids []ib.GID, s *slot, receive bool) []ib.GID {
	for _, g := range s.groups {
		if g.state == ReceivingJoinReq {
			continue
		}
		for i := range g.members {
			m := &g.members[i]
			if m.state.Receives() == receive && m.port.stamp != t.stamp {
				m.port.stamp = t.stamp
				gids = append(gids, m.port.gid)
			}
		}
	}
	return gids
}

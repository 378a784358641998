package group

import (
	"errors"
	"fmt"
)

// The ways in which Apply and Restore refuse an entry.
var (
	// ErrGap means that the number is not one more than the last one.
	ErrGap = errors.New("entries are missing or come twice")
	// ErrStale means that the entry is of a manager that was replaced.
	ErrStale = errors.New("entry of a past epoch")
	// ErrEntry means that the entry does not fit what the table holds.
	ErrEntry = errors.New("entry does not fit the table")
)

// Apply makes a change that another table told its journal. An entry that is
// refused, with ErrGap, ErrStale or ErrEntry, changes nothing. The journal of
// this table is not told.
//
// Seq and Epoch of the latest entry together name a history. A table may follow
// another only where that has an entry with this table's pair; else, as after a
// manager that was replaced has gone on alone, it begins with a snapshot.
func (t *Table) Apply(e Entry) error {
	switch {
	case e.Epoch < t.epoch:
		return fmt.Errorf("entry %d of epoch %d, after epoch %d: %w", e.Seq, e.Epoch, t.epoch, ErrStale)
	case e.Seq != t.seq+1:
		return fmt.Errorf("entry %d after %d: %w", e.Seq, t.seq, ErrGap)
	case e.Epoch > t.epoch && e.Kind != EntryResumed:
		return fmt.Errorf("entry %d of epoch %d: %w: epoch %d has not begun", e.Seq, e.Epoch, ErrEntry, e.Epoch)
	case e.Kind >= EntryCheckpoint:
		return fmt.Errorf("entry %d: %w: %v outside a snapshot", e.Seq, ErrEntry, e.Kind)
	}
	if err := e.checkTimes(); err != nil {
		return fmt.Errorf("entry %d: %w", e.Seq, err)
	}
	if err := t.apply(&e); err != nil {
		return fmt.Errorf("entry %d: %w", e.Seq, err)
	}
	t.now, t.seq = max(t.now, e.At), e.Seq
	return nil
}

// checkTimes refuses times with which the table could not go on counting.
func (e *Entry) checkTimes() error {
	if e.At < 0 || e.At > lastTime || e.Deadline < 0 || e.Deadline > lastTime {
		return misfit(e, "time out of range")
	}
	return nil
}

// apply makes a change, or gives an error and makes none.
func (t *Table) apply(e *Entry) error {
	switch e.Kind {
	case EntryCreated:
		return t.applyCreated(e)
	case EntryFreed:
		return t.applyFreed(e)
	case EntryReserved, EntryRemembered:
		return t.applyReserved(e)
	case EntryUnreserved:
		t.mlids.reserved = mlidSet{}
		return nil
	case EntryResumed:
		return t.applyResumed(e)
	case EntryRetiring:
		return t.applyRetiring(e)
	default:
		return t.applyToGroup(e)
	}
}

func (t *Table) applyToGroup(e *Entry) error {
	g := t.groups[e.MGID]
	if g == nil {
		return misfit(e, "no such group")
	}
	switch e.Kind {
	case EntryConfigured:
		return t.applyConfigured(e, g)
	case EntryMember:
		return t.applyMember(e, g)
	case EntryLeft:
		return t.applyLeft(e, g)
	case EntryState:
		return t.applyState(e, g)
	case EntryDeleted:
		return t.applyDeleted(e, g)
	default:
		return misfit(e, "unknown kind")
	}
}

func misfit(e *Entry, why string) error {
	return fmt.Errorf("%w: %v of %v: %s", ErrEntry, e.Kind, e.MGID, why)
}

func (t *Table) applyCreated(e *Entry) error {
	switch {
	case t.groups[e.MGID] != nil:
		return misfit(e, "it is there already")
	case !e.MGID.IsValid() || !e.MLID.IsValid() || !e.Params.wellFormed() || e.Count > MaxMemberCount:
		return misfit(e, "invalid values")
	case (e.State == 0) != (e.Count == 0) || e.State > Destroying || e.State.waits() != (e.Deadline > 0):
		return misfit(e, "state does not fit")
	case e.Configured && (e.Port.IsValid() || e.Count != 0) || e.Count != 0 && !e.Port.IsValid():
		return misfit(e, "creator does not fit")
	}
	s := t.makeSlot(e.MLID)
	shared := len(s.groups) > 0
	if s.retiring || shared && (e.State == Destroying || s.class.partition != e.Params.PKey.Base()) {
		return misfit(e, "MLID is not free")
	}
	t.link(e, s)
	if e.State == Destroying {
		t.retire(s)
	}
	return nil
}

// applyConfigured lets the configuration have a group, or its creator: where it
// has none, the group is nobody's, and counted for nobody.
func (t *Table) applyConfigured(e *Entry, g *group) error {
	if g.want != 0 || !e.Params.wellFormed() || e.Params.PKey.Base() != g.params.PKey.Base() {
		return misfit(e, "parameters do not fit")
	}
	t.slot(g.mlid).configured += counted(e.Configured) - counted(g.configured)
	g.configured, g.params = e.Configured, e.Params
	t.disown(g)
	return nil
}

func (t *Table) applyMember(e *Entry, g *group) error {
	if !e.JoinState.IsValid() || !e.Port.IsValid() || e.Requester == e.Port || g.state == Destroying {
		return misfit(e, "invalid member")
	}
	at := t.memberAt(g, e.Port)
	if at < 0 && g.want != 0 && len(g.members) >= int(g.want) {
		return misfit(e, "it is complete")
	}
	var by *port
	if e.Requester.IsValid() {
		by = t.intern(e.Requester)
		by.proxied++
	}
	if g.state == ReceivingJoinReq {
		t.gathered = max(t.gathered, t.now)
	}
	if at < 0 {
		t.admit(g, member{port: t.intern(e.Port), by: by, since: e.At, state: e.JoinState})
		return nil
	}
	t.alter(g, &g.members[at], by, e.JoinState)
	return nil
}

func (t *Table) applyLeft(e *Entry, g *group) error {
	at := t.memberAt(g, e.Port)
	if at < 0 {
		return misfit(e, "no such member")
	}
	t.expel(g, at)
	if g.want == 0 {
		t.want(t.slot(g.mlid), Changes)
	}
	return nil
}

func (t *Table) applyState(e *Entry, g *group) error {
	s := t.slot(g.mlid)
	switch {
	case g.state == 0 || e.State < g.state || e.State > Destroying || g.state == Destroying:
		return misfit(e, "state does not follow")
	case e.State.waits() != (e.Deadline > 0):
		return misfit(e, "deadline does not fit")
	case e.State == Destroying && len(s.groups) > 1:
		return misfit(e, "MLID is shared")
	}
	if e.State != ReceivingJoinReq {
		t.leaveState(g)
	}
	g.state = e.State
	t.deadlines.set(g, e.Deadline)
	switch e.State {
	case ComputingRoutes:
		t.want(s, Completions)
	case Destroying:
		t.empty(g)
		t.retire(s)
	default: // nothing but the wait
	}
	return nil
}

func (t *Table) applyDeleted(e *Entry, g *group) error {
	s := t.slot(g.mlid)
	if g.state == Destroying || e.Retires && len(s.groups) > 1 {
		return misfit(e, "MLID does not fit")
	}
	routed := g.state != ReceivingJoinReq
	t.unlink(g)
	t.detach(s, g)
	switch {
	case e.Retires:
		t.retire(s)
	case len(s.groups) == 0:
		t.release(s)
	case routed:
		t.want(s, Changes)
	}
	return nil
}

func (t *Table) applyFreed(e *Entry) error {
	s := t.slot(e.MLID)
	if s == nil || !s.retiring {
		return misfit(e, "MLID does not retire")
	}
	for len(s.groups) > 0 { // the one that is destroyed
		g := s.groups[0]
		t.unlink(g)
		t.detach(s, g)
	}
	t.release(s)
	return nil
}

func (t *Table) applyReserved(e *Entry) error {
	if !e.MGID.IsValid() || !e.MLID.IsValid() {
		return misfit(e, "invalid values")
	}
	s := t.makeSlot(e.MLID)
	if len(s.groups) > 0 || t.groups[e.MGID] != nil {
		return misfit(e, "it is in use")
	}
	t.remember(s, e.MGID)
	if e.Kind == EntryReserved && !s.retiring {
		t.mlids.reserved.add(index(e.MLID))
	}
	return nil
}

func (t *Table) applyRetiring(e *Entry) error {
	if !e.MLID.IsValid() {
		return misfit(e, "invalid MLID")
	}
	s := t.makeSlot(e.MLID)
	if s.retiring || len(s.groups) > 0 {
		return misfit(e, "MLID is in use")
	}
	t.occupy(s)
	s.retiring, s.handed = true, true
	t.retiring++
	t.want(s, Vanishings)
	return nil
}

func (t *Table) applyResumed(e *Entry) error {
	if e.Epoch <= t.epoch {
		return misfit(e, "epoch does not follow")
	}
	t.epoch = e.Epoch
	clear(t.work.batches) // another manager has the switches now, or this one anew
	return nil
}

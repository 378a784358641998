package admin

import (
	"fmt"
	"maps"
	"slices"
	"sync"

	"heddle/ib"
	"heddle/mad"
	"heddle/sm/group"
)

// aliases are the GUIDs that ports have beside their own. They belong to the
// server and not to a snapshot, as ports get them between sweeps.
type aliases struct {
	setting sync.Mutex // held over a whole change, also while the port is asked

	mu     sync.RWMutex
	tables map[ib.GUID][]ib.GUID // by the port's own GUID, from index 0 of its table; guarded by mu
	owners map[ib.GUID]ib.GUID   // the port's own GUID by the alias; guarded by mu

	made uint32 // the number in the last alias that was made up; guarded by setting
}

func newAliases() *aliases {
	return &aliases{tables: map[ib.GUID][]ib.GUID{}, owners: map[ib.GUID]ib.GUID{}}
}

// owner is the port that has an alias, 0 for nobody.
func (a *aliases) owner(alias ib.GUID) ib.GUID {
	a.mu.RLock()
	defer a.mu.RUnlock()
	return a.owners[alias]
}

// of are the entries of a port's table, 0 for none, from index 0.
func (a *aliases) of(port ib.GUID) []ib.GUID {
	a.mu.RLock()
	defer a.mu.RUnlock()
	return slices.Clone(a.tables[port])
}

// put gives a port an alias at an index, or takes away what is there.
func (a *aliases) put(port ib.GUID, index int, alias ib.GUID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	t := a.tables[port]
	for len(t) <= index {
		t = append(t, 0)
	}
	delete(a.owners, t[index])
	if t[index] = alias; alias != 0 {
		a.owners[alias] = port
	}
	a.tables[port] = t
	if !slices.ContainsFunc(t, ib.GUID.IsValid) {
		delete(a.tables, port)
	}
}

// keep drops the aliases of ports that are not known, and gives those ports.
func (a *aliases) keep(known func(ib.GUID) bool) (gone []ib.GUID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for port, table := range a.tables {
		if known(port) {
			continue
		}
		for _, alias := range table {
			delete(a.owners, alias)
		}
		delete(a.tables, port)
		gone = append(gone, port)
	}
	return gone
}

// Aliases are the GUID tables of the ports that have aliases, by their own
// GUIDs: from index 0, which is never used, with 0 for an empty entry.
func (s *Server) Aliases() map[ib.GUID][]ib.GUID {
	s.aliases.mu.RLock()
	defer s.aliases.mu.RUnlock()
	list := maps.Clone(s.aliases.tables)
	for port, table := range list {
		list[port] = slices.Clone(table)
	}
	return list
}

// setGUIDs answers a Set of GUIDInfoRecord: it gives a port aliases at the
// indexes of the components that are set, and makes up one where the GUID is 0.
// An entry of the answer is 0 where the GUID is another's. Index 0 of block 0 is
// the port's own (IBTA 1, 15.2.5.18).
func (r *request) setGUIDs() mad.Status {
	return r.changeGUIDs(func(e *end, index int, asked ib.GUID) (ib.GUID, bool) {
		if asked == 0 {
			return r.newAlias(), true
		}
		owner := r.server.aliases.owner(asked)
		taken := r.snapshot.byGUID[asked] != nil || owner != 0 && owner != e.guid
		at := slices.Index(r.server.aliases.of(e.guid), asked)
		return asked, !taken && (at < 0 || at == index)
	})
}

// deleteGUIDs answers a Delete of GUIDInfoRecord.
func (r *request) deleteGUIDs() mad.Status {
	return r.changeGUIDs(func(*end, int, ib.GUID) (ib.GUID, bool) { return 0, true })
}

// changeGUIDs changes entries of a block; choose tells the GUID for one, or that
// it stays as it is.
func (r *request) changeGUIDs(choose func(e *end, index int, asked ib.GUID) (ib.GUID, bool)) mad.Status {
	record, err := mad.ParseGUIDInfoRecord(r.data)
	e := r.snapshot.at(record.LID)
	switch {
	case err != nil:
		return mad.StatusSARequestInvalid
	case r.mask&(mad.GUIDInfoRecordLID|mad.GUIDInfoRecordBlock) != mad.GUIDInfoRecordLID|mad.GUIDInfoRecordBlock:
		return mad.StatusSAInsufficientFields
	case e == nil || !r.sees(e):
		return mad.StatusSARequestInvalid
	case e != r.asker && !r.trusted:
		return mad.StatusSADenied
	case int(record.Block) >= guidBlocks(r.snapshot.port(e)),
		record.Block == 0 && r.mask.Has(mad.GUIDInfoRecordGUID):
		return mad.StatusSARequestInvalid
	}
	a := r.server.aliases
	a.setting.Lock()
	defer a.setting.Unlock()
	before := a.of(e.guid)
	var declined []int
	for i, asked := range record.GUIDs {
		index := int(record.Block)*len(record.GUIDs) + i
		if !r.mask.Has(mad.GUIDInfoRecordGUID<<i) || index >= int(r.snapshot.port(e).Info.GUIDCap) {
			continue
		}
		if guid, ok := choose(e, index, asked); ok {
			a.put(e.guid, index, guid)
		} else {
			declined = append(declined, i)
		}
	}
	record.GUIDs = guidsOf(e.guid, a.of(e.guid), record.Block)
	if !r.writeGUIDs(e, &record) {
		r.restoreAliases(e.guid, before)
		return mad.StatusBusy
	}
	r.noteAliases(e.guid)
	r.leaveGroups(before)
	for _, i := range declined {
		record.GUIDs[i] = 0
	}
	return answer(r, record)
}

// leaveGroups has those of a port's former aliases that nobody has any more
// leave their groups.
func (r *request) leaveGroups(before []ib.GUID) {
	r.server.Groups(func(t *group.Table) {
		for _, alias := range before {
			if alias != 0 && r.server.aliases.owner(alias) == 0 {
				t.PortGone(r.now, ib.NewGID(r.snapshot.subnet.Prefix, alias))
			}
		}
	})
}

// writeGUIDs has the port take a block.
func (r *request) writeGUIDs(e *end, record *mad.GUIDInfoRecord) bool {
	tables := r.snapshot.subnet.Tables
	if tables == nil {
		return false
	}
	var data [64]byte
	record.GUIDs.AppendTo(data[:0])
	t := PortTable{Node: e.node, Port: e.port, Attr: mad.AttrGUIDInfo, Modifier: uint32(record.Block)}
	return tables.Write(t, data)
}

func (r *request) restoreAliases(port ib.GUID, before []ib.GUID) {
	a := r.server.aliases
	for index := range max(len(before), len(a.of(port))) {
		alias := ib.GUID(0)
		if index < len(before) {
			alias = before[index]
		}
		a.put(port, index, alias)
	}
}

// newAlias makes up a GUID that nobody has: a locally administered one. The
// numbers in them go on from the last one, so that the search is short however
// many there are.
func (r *request) newAlias() ib.GUID {
	const local = ib.GUID(0x0200_6865_0000_0000)
	a := r.server.aliases
	for {
		a.made++
		guid := local + ib.GUID(a.made)
		if a.made != 0 && a.owner(guid) == 0 && r.snapshot.byGUID[guid] == nil {
			return guid
		}
	}
}

// noteAliases tells the journal the table of a port.
func (r *request) noteAliases(port ib.GUID) {
	table := r.server.aliases.of(port)
	var value []byte
	for _, alias := range table {
		value = be.AppendUint64(value, uint64(alias))
	}
	note(r.server.config.Journal, BucketAliases, be.AppendUint64(nil, uint64(port)), value)
}

// restore takes the table of a port.
func (a *aliases) restore(c Change) error {
	if len(c.Key) != guidLen || len(c.Value)%guidLen != 0 || len(c.Value) > 256*guidLen {
		return fmt.Errorf("%w: key of %d and value of %d bytes", ErrKept, len(c.Key), len(c.Value))
	}
	port := ib.GUID(be.Uint64(c.Key))
	for index := range a.of(port) {
		a.put(port, index, 0)
	}
	for i := 0; i < len(c.Value); i += guidLen {
		alias := ib.GUID(be.Uint64(c.Value[i:]))
		if owner := a.owner(alias); owner != 0 && owner != port {
			return fmt.Errorf("%w: alias %v is that of two ports", ErrKept, alias)
		}
		if alias != 0 {
			a.put(port, i/guidLen, alias)
		}
	}
	return nil
}

package sm

import (
	"maps"
	"slices"

	"heddle/ib"
	"heddle/sm/plan"
)

// fillLIDs adds to what the state has the LIDs that Config.LIDs.Keep gave: the
// state counts where both know a port, or would have two ports share a LID.
func (m *Manager) fillLIDs() {
	taken := owners(m.cfg.LIDs.Keep)
	for _, guid := range slices.Sorted(maps.Keys(m.given)) {
		own := m.given[guid]
		if kept, ok := m.cfg.LIDs.Keep[guid]; ok {
			if kept != own {
				m.cfg.Log.Warn("the state has another LID of a port than the file, and counts", "port", guid, "state", kept.First, "file", own.First)
			}
			continue
		}
		if other, ok := taken.overlaps(own); ok {
			m.cfg.Log.Warn("the file gives a LID that the state has for another port, and is passed over", "port", guid, "LID", own.First, "other", other)
			continue
		}
		m.cfg.LIDs.Keep[guid] = own
		taken.add(guid, own)
	}
}

// dropGiven forgets the LIDs that were given, as another manager was master
// since: what it gave counts.
func (m *Manager) dropGiven() {
	if m.cfg.LIDsAfterStandby || len(m.given) == 0 {
		return
	}
	m.cfg.Log.Info("the LIDs of the file do not count, as another manager is master", "ports", len(m.given))
	m.given = nil
	if m.keeper.memory == nil {
		m.cfg.LIDs.Keep = nil
	}
}

// allLIDs are those of the last sweep, and those that ports had which are gone.
func (m *Manager) allLIDs() map[ib.GUID]plan.LIDRange {
	all := make(map[ib.GUID]plan.LIDRange, len(m.cfg.LIDs.Keep))
	taken := lidOwners{}
	for p, own := range m.lids {
		all[p.At().GUID] = own
		taken.add(p.At().GUID, own)
	}
	for _, guid := range slices.Sorted(maps.Keys(m.cfg.LIDs.Keep)) {
		own := m.cfg.LIDs.Keep[guid]
		if _, there := all[guid]; there {
			continue
		}
		if _, ok := taken.overlaps(own); !ok {
			all[guid] = own
			taken.add(guid, own)
		}
	}
	return all
}

// lidOwners has the port of each LID.
type lidOwners map[ib.LID]ib.GUID

func owners(lids map[ib.GUID]plan.LIDRange) lidOwners {
	o := lidOwners{}
	for guid, own := range lids {
		o.add(guid, own)
	}
	return o
}

func (o lidOwners) add(guid ib.GUID, own plan.LIDRange) {
	for n := range int(own.Last-own.First) + 1 {
		o[own.First+ib.LID(n)] = guid
	}
}

func (o lidOwners) overlaps(own plan.LIDRange) (guid ib.GUID, ok bool) {
	for n := range int(own.Last-own.First) + 1 {
		if guid, ok = o[own.First+ib.LID(n)]; ok {
			return guid, true
		}
	}
	return 0, false
}

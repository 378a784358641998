package admin

import (
	"time"

	"heddle/ib"
	"heddle/sm/group"
)

// Changes are the GIDs that came with a snapshot, and those that went; traps 64
// and 65 tell of them. Nobody is told of the ports of a server's first snapshot:
// they did not come just now.
type Changes struct{ Came, Gone []ib.GID }

// Update makes the server answer by a snapshot, and begins with the first. Ports
// that are gone, compared with the snapshot before, leave their groups, and lose
// their services and subscriptions; with the first snapshot, so do members
// without a port.
func (s *Server) Update(now time.Time, snapshot *Snapshot) Changes {
	s.updating.Lock()
	defer s.updating.Unlock()
	snapshot.aliases = s.aliases
	before := s.snapshot.Swap(snapshot)
	if before != nil {
		s.previous.Store(before)
	}
	changes := compare(s.previous.Load(), snapshot)
	s.Groups(func(t *group.Table) {
		gone := changes.Gone
		if before == nil {
			gone = strangers(t, snapshot)
		}
		for _, gid := range gone {
			t.PortGone(now, gid)
		}
	})
	known := func(guid ib.GUID) bool { return snapshot.byGUID[guid] != nil }
	s.subscriptions.keep(known)
	s.services.keep(known)
	for _, port := range s.aliases.keep(known) {
		note(s.config.Journal, BucketAliases, be.AppendUint64(nil, uint64(port)), nil)
	}
	return changes
}

// Silence makes the server answer nothing until the next Update: the subnet
// manager is not master any more.
func (s *Server) Silence() {
	s.updating.Lock()
	defer s.updating.Unlock()
	if before := s.snapshot.Swap(nil); before != nil {
		s.previous.Store(before)
	}
}

// compare tells which GIDs are in one of two snapshots only.
func compare(before, after *Snapshot) Changes {
	if before == nil {
		return Changes{}
	}
	return Changes{Came: missing(after, before), Gone: missing(before, after)}
}

// missing are the GIDs of a snapshot that another does not have.
func missing(of, in *Snapshot) (gids []ib.GID) {
	for i := range of.ends {
		for _, gid := range of.gids(&of.ends[i]) {
			if in.named(gid) == nil {
				gids = append(gids, gid)
			}
		}
	}
	return gids
}

// strangers are the members of groups that a snapshot does not have.
func strangers(t *group.Table, s *Snapshot) []ib.GID {
	known := map[ib.GID]bool{}
	var list []ib.GID
	for g := range t.Groups() {
		for m := range t.Members(g.MGID) {
			if _, seen := known[m.Port]; seen {
				continue
			}
			known[m.Port] = s.named(m.Port) != nil
			if !known[m.Port] {
				list = append(list, m.Port)
			}
		}
	}
	return list
}

// refresh takes the snapshot as it is now, where the caller's lock keeps Update
// from cleaning up after the ports that are gone. It tells whether the requester
// is still there.
func (r *request) refresh() bool {
	s := r.server.snapshot.Load()
	if s == nil || s.at(r.from.LID) == nil {
		return false
	}
	r.snapshot, r.asker = s, s.at(r.from.LID)
	return true
}

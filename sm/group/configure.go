package group

import (
	"errors"
	"time"

	"heddle/ib"
)

// Configured is a group that the configuration names, such as the broadcast
// group of a partition. It stays without members.
type Configured struct {
	MGID ib.MGID
	MLID ib.MLID // asked for, zero for any
	Params
}

// Configure makes the groups of the configuration be those of the list. Those
// that it no longer names go when their members do. A group whose parameters
// are not what the configuration says keeps them as long as it has members, who
// rely on them; a collected group is let be. Both are in kept. The error wraps
// a *Refusal for each group that could not be made; the others are.
func (t *Table) Configure(now time.Time, list []Configured) (kept []ib.MGID, err error) {
	t.see(now)
	named := make(map[ib.MGID]bool, len(list))
	var failures []error
	for i := range list {
		c := &list[i]
		named[c.MGID] = true
		g := t.groups[c.MGID]
		switch {
		case g == nil:
			failures = append(failures, t.createConfigured(c))
		case !t.adopt(g, c):
			kept = append(kept, c.MGID)
		}
	}
	t.disclaim(named)
	return kept, errors.Join(failures...)
}

func (t *Table) createConfigured(c *Configured) error {
	refuse := func(reason Reason) error { return &Refusal{Reason: reason, MGID: c.MGID} }
	if !c.MGID.IsValid() || !c.wellFormed() {
		return refuse(BadValue)
	}
	mlid, reason := t.choose(wish{mgid: c.MGID, mlid: c.MLID, class: class{partition: c.PKey.Base()}})
	if reason != 0 {
		return refuse(reason)
	}
	t.commit(Entry{Kind: EntryCreated, MGID: c.MGID, MLID: mlid, Params: c.Params, Configured: true})
	return nil
}

// adopt makes a group that is there one of the configuration, and tells whether
// it is as that says.
func (t *Table) adopt(g *group, c *Configured) bool {
	if g.want != 0 {
		return false
	}
	params := g.params
	if len(g.members) == 0 && c.wellFormed() && c.PKey.Base() == params.PKey.Base() {
		params = c.Params
	}
	if !g.configured || params != g.params {
		t.commit(Entry{Kind: EntryConfigured, MGID: g.mgid, Params: params, Configured: true})
	}
	return params == c.Params
}

// disclaim gives the groups up that the configuration does not name any more.
func (t *Table) disclaim(named map[ib.MGID]bool) {
	for i := len(t.list) - 1; i >= 0; i-- { // those that are destroyed make room for later ones
		g := t.list[i]
		if g.configured && !named[g.mgid] {
			t.commit(Entry{Kind: EntryConfigured, MGID: g.mgid, Params: g.params})
			t.settle(g)
		}
	}
}

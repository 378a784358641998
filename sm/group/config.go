package group

import (
	"cmp"
	"fmt"
	"time"

	"heddle/ib"
)

// Config is what a table is made with. Zero means the default.
type Config struct {
	// Prefix is the subnet's; ib.DefaultPrefix by default.
	Prefix uint64
	// Lifetime is the packet lifetime of a group whose creator gives none, 0 to
	// 63; 18, about a second, by default.
	Lifetime uint8
	// Cap is the number of MLIDs from ib.FirstMLID that may be given out, which
	// is the smallest MulticastFDBCap of the switches; ib.NumMLIDs by default.
	// SetCap changes it.
	Cap int
	// JoinLimit and LeaveLimit are how long a collected group waits for its
	// members to join, and to leave, from the first to the last; one minute by
	// default.
	JoinLimit, LeaveLimit time.Duration
	Limits                Limits
	// Share lets groups of one partition share an MLID where none is free.
	Share bool
	// ShareCost chooses the groups that share; by default those whose ports
	// overlap most.
	ShareCost ShareCost
	// ShareSolicitedNode lets IPv6 solicited-node groups that differ in their
	// last 24 bits only share an MLID at all times.
	ShareSolicitedNode bool
	// Journal is given every entry once it holds, in the order of the numbers;
	// nil for none. It must not call the table.
	Journal func(Entry)
}

// Limits bound what clients can take. A client is the port that sends the
// requests.
type Limits struct {
	Groups  int // that exist because one client created them; 4,096 by default
	Share   int // percent of the MLIDs that those may take, the rest share; 100 by default
	Proxied int // members that one client joined for other ports; 65,536 by default
	Pending int // collected groups of one client that wait for members; 4,096 by default

	TotalGroups  int // 131,072 by default
	TotalMembers int // 4,194,304 by default
}

// ShareCost tells how many links more would be used if a group, of which only
// the first member is known, shared the MLID of others. It may read the table.
// The lowest cost wins, then the fewest groups, then the lowest MLID.
type ShareCost func(mgid ib.MGID, first ib.GID, with ib.MLID) int

func (c Config) withDefaults() (Config, error) {
	c.Prefix = cmp.Or(c.Prefix, ib.DefaultPrefix)
	c.Lifetime = cmp.Or(c.Lifetime, 18)
	c.Cap = cmp.Or(c.Cap, ib.NumMLIDs)
	c.JoinLimit = cmp.Or(c.JoinLimit, time.Minute)
	c.LeaveLimit = cmp.Or(c.LeaveLimit, time.Minute)
	c.Limits.Groups = cmp.Or(c.Limits.Groups, 1<<12)
	c.Limits.Share = cmp.Or(c.Limits.Share, 100)
	c.Limits.Proxied = cmp.Or(c.Limits.Proxied, 1<<16)
	c.Limits.Pending = cmp.Or(c.Limits.Pending, 1<<12)
	c.Limits.TotalGroups = cmp.Or(c.Limits.TotalGroups, 1<<17)
	c.Limits.TotalMembers = cmp.Or(c.Limits.TotalMembers, 1<<22)
	return c, c.check()
}

func (c *Config) check() error {
	l := c.Limits
	switch {
	case c.Lifetime > maxLifetime:
		return fmt.Errorf("group: lifetime %d: want at most %d", c.Lifetime, maxLifetime)
	case c.Cap < 0:
		return fmt.Errorf("group: cap of %d MLIDs", c.Cap)
	case c.JoinLimit < 0 || c.LeaveLimit < 0:
		return fmt.Errorf("group: time limits %v and %v: want none below 0", c.JoinLimit, c.LeaveLimit)
	case l.Share < 0 || l.Share > 100:
		return fmt.Errorf("group: a share of %d percent: want up to 100", l.Share)
	case min(l.Groups, l.Proxied, l.Pending, l.TotalGroups, l.TotalMembers) < 0:
		return fmt.Errorf("group: limits %+v: want none below 0", l)
	}
	return nil
}

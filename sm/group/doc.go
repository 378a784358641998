// Package group is the multicast groups of a subnet manager: who is in which
// group, with which parameters and MLID, and what is to be routed because of
// it. It is a pure core: no clock, no goroutine, no input or output. Times are
// passed in, and every change comes out as a value.
//
// # Groups
//
// There are two kinds. A plain group has the behaviour of the standard: it is
// there while a full or send-only-full member is in it, and every change of the
// ports that send or receive is to be routed. A collected group says in its
// joins how many members (distinct port GIDs) it will have. It is routed once,
// when they are all there, and destroyed when the last has left; see State and
// docs/groups.md. Groups that the configuration names are plain, and stay as
// long as it names them.
//
// # Use
//
//	t, err := group.New(group.Config{Prefix: prefix, Journal: keep})
//	joined, err := t.Join(now, &group.Request{...}) // the answer, or a *Refusal
//	...
//	for at, ok := t.NextDeadline(); ok && !now.Before(at); { t.Advance(now) }
//	...
//	batch := t.Take(now, group.Everything)
//	for _, mlid := range batch.Changed {
//		ports = t.Ports(mlid, ports.Reset())
//		... // route
//	}
//	...                          // entries that vanish are gone:
//	t.Removed(now, batch.ID)     // MLIDs are free again
//	...                          // entries that come are written:
//	t.Programmed(now, batch.ID)  // collected groups are ready
//
// # Journal
//
// Every accepted change is one or more entries, given to Config.Journal in the
// order of their numbers. An Entry says what came out, not what was asked: Apply
// on another table needs no configuration and gives the same groups. The
// entries of one call belong together; where only the first of them were
// kept, Resume mends the rest. AppendSnapshot and Restore carry the whole
// state. Entry.Notice tells which of them are traps 66 and 67.
//
// # Rules
//
// A Table is for one goroutine at a time, its readers included. All functions
// take a time that should not go back; where it does, the latest counts. A
// join or a leave costs the same however many groups and members there are.
// No request makes the table panic, grow beyond its limits, or take something
// from another client's groups.
//
// # Sources
//
// The rules for joins are those of the InfiniBand Architecture Specification,
// volume 1 (IBTA 1), 15.2.5.17 and its subsections, the form of MGIDs that of
// 4.1.1 and 15.2.5.17.2, IP over InfiniBand that of RFC 4391. Collected groups
// are heddle's own.
package group

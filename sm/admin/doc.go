// Package admin is subnet administration, the server: it answers what ports ask
// of the subnet, lets them join groups, offer services and subscribe to events.
// It is a core without socket or clock: a request is bytes and a time, and its
// answer is bytes.
//
//	s, err := admin.New(admin.Config{Groups: table})
//	...
//	snapshot, err := admin.NewSnapshot(admin.Subnet{Nodes: nodes, Managers: managers})
//	...
//	changes := s.Update(now, snapshot)         // after each sweep
//	answer, ok := s.Request(now, from, message) // ok false: nothing is to be sent
//	for _, r := range s.Reports(now, notice) { ... } // to be sent until they are answered
//
// # Reading and writing
//
// What a sweep saw is a Snapshot, which does not change. Update replaces it, so
// that queries of the subnet run at once on any number of goroutines, without a
// lock, also while a sweep goes on. Groups, services and subscriptions have a
// lock each. The table of groups belongs to the Server: the subnet manager works
// on it within Server.Groups.
//
// Tables of ports that no sweep reads, lanes and GUIDs and the P_Keys of
// switches' external ports, are read through PortTables when somebody asks for
// them: such a request waits for the ports, see MayBlock.
//
// # Aliases
//
// A Set of GUIDInfoRecord gives a port further GUIDs, a Delete takes them away.
// A port may change its own, a trusted requester those of all. A port is found
// by its aliases as by its own GUID; it joins groups by each, and what joined by
// an alias leaves when that goes. Aliases end with the port.
//
// # Who may see what
//
// A request that shows the SM_Key of the configuration is trusted and sees all.
// Others see the ports with which their own port shares a partition, no M_Key,
// no key of services, no P_Key tables, and of groups only those of their
// partitions, without the members but their own. Requests of ports that the
// snapshot does not have are answered busy: the next sweep may find them.
//
// # Limits
//
// No request makes the Server panic, or grow beyond the limits of Config. What a
// requester asks for costs it according to the work, and beyond its rate it is
// answered busy. A requester is a LID: who can send with that of another, as a
// program on a host that is not its own master cannot, is counted as that one.
// Before a request comes here, the subnet manager lets clients take turns, and
// umad.Port bounds what each has on the way by RMPP.
//
// # Statuses
//
//	version of the class            0x0004
//	method of no attribute          0x0008
//	attribute without the method    0x000C
//	too much asked for at once      0x0001
//	table or state too large        0x0100
//	malformed, or refused           0x0200
//	Get without a record            0x0300; a GetTable is then an empty table
//	Get with several records        0x0400
//	GID that is not of the subnet   0x0500
//	missing components              0x0600
//	not the requester's to see      0x0700
//
// # Sources
//
// IBTA 1, chapter 15; MCGStateRecord and MCMemberRecord's MemberCount are
// heddle's own.
package admin

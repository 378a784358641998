// Package election finds out which of the subnet managers of a subnet is its
// master (IBTA 1, 14.4): by SMInfo, its states NotActive, Discovering, Standby
// and Master, and the packets HANDOVER, ACKNOWLEDGE, DISABLE, STANDBY and
// DISCOVER.
//
// A Machine is one manager's part in it. It has no clock, no port and no
// goroutine: it is told what happened, and when, and says what is to be done.
//
//	m := election.New(election.Config{GUID: guid, Priority: 9})
//	m.Start(now)
//	for _, a := range m.Take() { ... } // here: discover the subnet
//	m.Swept(now, peers)
//
// The best manager has the highest priority, and among those the lowest GUID
// of its port. The rules, and what OpenSM does, are in docs/election.md.
package election

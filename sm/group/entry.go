package group

import (
	"fmt"

	"heddle/ib"
)

// Entry is one change of a table. Fields that its Kind does not name are zero.
type Entry struct {
	// Epoch is that of the manager that made the change, Seq its number; the
	// first is 1, and each is one more than the one before it.
	Seq, Epoch uint64
	At         int64 // Unix time in nanoseconds
	Kind       EntryKind

	MGID       ib.MGID
	MLID       ib.MLID
	Port       ib.GID // the member, or the creator of a group
	Requester  ib.GID // who asked for the member, where it was another port
	JoinState  JoinState
	Params     Params
	Count      uint32 // MemberCount; in a checkpoint the number of the next MGID
	Configured bool
	State      State
	Deadline   int64 // Unix time in nanoseconds, 0 for none
	Retires    bool
}

// EntryKind says what an entry changes, and which fields it has.
type EntryKind uint8

// The kinds of entries.
const (
	EntryCreated    EntryKind = 1 + iota // group: MGID, MLID, Port, Params, Count, Configured, State, Deadline
	EntryConfigured                      // group named by the configuration or no more: MGID, Params, Configured
	EntryMember                          // in a group, or changed: MGID, Port, JoinState (all bits), Requester
	EntryLeft                            // member is out: MGID, Port
	EntryState                           // of a collected group: MGID, State, Deadline
	EntryDeleted                         // group: MGID, Retires (its MLID waits for EntryFreed)
	EntryFreed                           // MLID, and the group that was destroyed at it: MLID
	EntryReserved                        // MLID kept for an MGID: MGID, MLID
	EntryUnreserved                      // all reservations are dropped
	EntryResumed                         // a manager took over: Epoch is new
	EntryCheckpoint                      // start and end of a snapshot: Seq, Epoch, Count
	EntryRemembered                      // MLID that an MGID had, in a snapshot: MGID, MLID
	EntryRetiring                        // MLID that waits for EntryFreed, in a snapshot: MLID
)

var entryNames = [...]string{
	"", "created", "configured", "member", "left", "state", "deleted", "freed",
	"reserved", "unreserved", "resumed", "checkpoint", "remembered", "retiring",
}

// IsValid tells whether the kind is one of the constants.
func (k EntryKind) IsValid() bool { return k >= EntryCreated && k <= EntryRetiring }

// String names the kind.
func (k EntryKind) String() string {
	if !k.IsValid() {
		return fmt.Sprintf("EntryKind(%d)", uint8(k))
	}
	return entryNames[k]
}

// The traps that tell of groups (IBTA 1, 13.4.9 and 14.2.5.1).
const (
	TrapCreated = 66
	TrapDeleted = 67
)

// Notice gives the number of the trap that an entry is to be reported by, 0 for
// none. A collected group is deleted for its clients when it is destroyed, not
// when the switches have forgotten it.
func (e *Entry) Notice() int {
	switch {
	case e.Kind == EntryCreated:
		return TrapCreated
	case e.Kind == EntryDeleted, e.Kind == EntryState && e.State == Destroying:
		return TrapDeleted
	default:
		return 0
	}
}

package election

import (
	"fmt"
	"time"

	"heddle/ib"
	"heddle/mad"
)

// Kind is what an Action is.
type Kind uint8

// The kinds of actions.
const (
	// Discover is to look at the subnet without changing it, and to tell the
	// result with Swept or SweepFailed. A manager that was master has stopped
	// to write before.
	Discover Kind = 1 + iota
	// Lead is to be the master: a heavy sweep, that writes. Its end is told
	// with Programmed, and what managers it and each later sweep found with
	// Swept.
	Lead
	// Follow is to stand by under Peer, and above all not to write any more.
	Follow
	// Leave is to do nothing any more: disabled, or stopped.
	Leave
	// Resweep is to sweep once more, as the master.
	Resweep
	// Ask is to send Get(SMInfo) to Peer, and to tell with Answered or
	// Unanswered what came of it.
	Ask
	// Tell is to send Set(SMInfo) with Control and Info to Peer, and to tell
	// what came of it as for Ask.
	Tell
	// Announce is to send trap 144 with the bit of a changed SM priority to
	// Peer, the master.
	Announce
	// Note is something for the log only.
	Note
)

// String names the kind.
func (k Kind) String() string {
	names := [...]string{"none", "discover", "lead", "follow", "leave", "resweep", "ask", "tell", "announce", "note"}
	if int(k) >= len(names) {
		return fmt.Sprintf("kind(%d)", uint8(k))
	}
	return names[k]
}

// Action is something that is to be done.
type Action struct {
	Kind Kind
	// Peer is the manager that an Ask, a Tell, a Follow or an Announce is
	// about.
	Peer Peer
	// ID is what the outcome of an Ask or a Tell is told with.
	ID uint64
	// Control is the attribute modifier, and Info the SMInfo, of a Tell.
	Control mad.SMControl
	Info    mad.SMInfo
	// Reason says why, for the log.
	Reason string
}

// Peer is another subnet manager.
type Peer struct {
	// Port is the GUID of its port.
	Port ib.GUID
	// Info is what it told of itself.
	Info mad.SMInfo
	// Path is a directed route to it, as the sweep found it; the machine does
	// not look at it.
	Path []uint8
	// Since is when it was first heard to be in its state, Heard when it was
	// heard of last. Both are the machine's to set.
	Since, Heard time.Time
}

package sm

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"time"

	"heddle/ib"
	"heddle/mad"
)

// TrapRules say what a Manager makes of traps that are repeated.
type TrapRules struct {
	// Window is how soon after another one a trap is a repetition: 5 s by
	// default. After so long without any, a port is healthy again.
	Window time.Duration
	// Unhealthy is after how many repetitions in a row a port counts as
	// unhealthy, and a source of traps as babbling: 10 by default. What babbles
	// is answered still, but causes no more than one sweep, report and line of
	// the log in each Pause, 10 s by default.
	Unhealthy int
	Pause     time.Duration
	// DisableAt is after how many repetitions of traps 129 to 131 the port's
	// link is disabled, until somebody enables it again; 0 is never. OpenSM's
	// babbling_port_policy does so at 250.
	DisableAt int
}

func (r TrapRules) filled() TrapRules {
	r.Window = cmp.Or(r.Window, 5*time.Second)
	r.Unhealthy = cmp.Or(r.Unhealthy, 10)
	r.Pause = cmp.Or(r.Pause, 10*time.Second)
	return r
}

// trapKind is what a trap is about: each is counted for itself.
type trapKind uint8

const (
	linkErrors trapKind = iota // 129 to 131
	badKeys                    // 256 to 259
	changes                    // all others
)

func kindOfTrap(n mad.TrapNumber) trapKind {
	switch n {
	case mad.TrapLinkIntegrity, mad.TrapBufferOverrun, mad.TrapFlowControl:
		return linkErrors
	case mad.TrapBadMKey, mad.TrapBadPKey, mad.TrapBadQKey, mad.TrapSwitchBadPKey:
		return badKeys
	default:
		return changes
	}
}

// trapSource is who tells of what; the zero one stands for all LIDs that the
// last sweep did not see.
type trapSource struct {
	lid  ib.LID
	port uint8 // 0 where the trap does not say
	kind trapKind
}

// trapRecord is what a source did.
type trapRecord struct {
	counts    map[mad.TrapNumber]uint64
	run       int // in a row, each within the window
	last      time.Time
	heard     time.Time // the last one that was more than answered
	unhealthy bool
	disabling bool
}

// trapLedger counts traps, and tells what to do about them. It has no clock.
type trapLedger struct {
	rules TrapRules

	mu     sync.Mutex
	owners map[ib.LID]trapOwner       // guarded by mu, as what follows
	seen   map[trapSource]*trapRecord // of owners, so that it is bounded
	totals map[mad.TrapNumber]uint64
}

// trapOwner is whose LID it is.
type trapOwner struct {
	guid  ib.GUID
	label string
	ports uint8
}

func newTrapLedger(rules TrapRules) *trapLedger {
	return &trapLedger{rules: rules.filled(), seen: map[trapSource]*trapRecord{}, totals: map[mad.TrapNumber]uint64{}}
}

// verdict is what to do about a trap beside answering it.
type verdict struct {
	heed    bool // it is not one of too many
	sick    bool // the source became unhealthy, or began to babble
	disable bool
	run     int
}

// take counts a trap.
func (l *trapLedger) take(now time.Time, s trapSource, number mad.TrapNumber) (v verdict) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if o, ok := l.owners[s.lid]; !ok || s.port > o.ports {
		s = trapSource{kind: s.kind}
	}
	r := l.seen[s]
	if r == nil {
		r = &trapRecord{counts: map[mad.TrapNumber]uint64{}}
		l.seen[s] = r
	}
	if len(l.totals) < maxTrapNumbers || l.totals[number] > 0 {
		l.totals[number]++
		r.counts[number]++
	}
	r.age(now, l.rules.Window)
	r.run++
	r.last = now
	v = verdict{run: r.run, heed: r.run <= l.rules.Unhealthy || now.Sub(r.heard) >= l.rules.Pause}
	if v.heed {
		r.heard = now
	}
	if r.run >= l.rules.Unhealthy && !r.unhealthy {
		r.unhealthy, v.sick = true, true
	}
	if at := l.rules.DisableAt; s.kind == linkErrors && s.lid != 0 && at > 0 && r.run >= at && !r.disabling {
		r.disabling, v.disable = true, true
	}
	return v
}

// maxTrapNumbers bounds the numbers that are counted.
const maxTrapNumbers = 64

// age lets what was quiet for a window be as new.
func (r *trapRecord) age(now time.Time, window time.Duration) {
	if now.Sub(r.last) > window {
		r.run, r.unhealthy, r.disabling = 0, false, false
	}
}

// meet takes the LIDs that a sweep saw, and forgets the sources that are gone.
func (l *trapLedger) meet(owners map[ib.LID]trapOwner) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for s := range l.seen {
		if o, ok := owners[s.lid]; s.lid != 0 && (!ok || o.guid != l.owners[s.lid].guid) {
			delete(l.seen, s)
		}
	}
	l.owners = owners
}

// PortTraps is what a port told of itself by traps 129 to 131 and 256 to 259.
type PortTraps struct {
	GUID ib.GUID // of the node
	Node string  // its label
	LID  ib.LID
	Port uint8 // 0 where the traps do not say
	// Counts are by trap, Repeats those of late, each within TrapRules.Window.
	Counts  map[mad.TrapNumber]uint64
	Repeats int
	Last    time.Time
	// Unhealthy says that there are too many, Disabled that the port's link was
	// disabled for that.
	Unhealthy, Disabled bool
}

// ports lists what ports told, the unhealthy first, then by LID and port.
func (l *trapLedger) ports(now time.Time) (list []PortTraps, totals map[mad.TrapNumber]uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for s, r := range l.seen {
		if s.kind == changes || s.lid == 0 {
			continue
		}
		disabled := r.disabling
		r.age(now, l.rules.Window)
		r.disabling = disabled
		o := l.owners[s.lid]
		list = append(list, PortTraps{
			GUID: o.guid, Node: o.label, LID: s.lid, Port: s.port, Counts: maps.Clone(r.counts),
			Repeats: r.run, Last: r.last, Unhealthy: r.unhealthy, Disabled: disabled,
		})
	}
	slices.SortFunc(list, func(a, b PortTraps) int {
		switch {
		case a.Unhealthy != b.Unhealthy && a.Unhealthy:
			return -1
		case a.Unhealthy != b.Unhealthy:
			return 1
		default:
			return cmp.Or(cmp.Compare(a.LID, b.LID), cmp.Compare(a.Port, b.Port))
		}
	})
	return list, maps.Clone(l.totals)
}

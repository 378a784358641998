package fabric

import (
	"fmt"
	"strings"
)

// Place is where a statement about a fabric stands: a file's name and a line
// from 1. The zero Place is nowhere, as for a fault of the whole graph.
type Place struct {
	File string
	Line int
}

// String is "file:line", the file alone, or "".
func (p Place) String() string {
	switch {
	case p.Line == 0:
		return p.File
	case p.File == "":
		return fmt.Sprintf("line %d", p.Line)
	default:
		return fmt.Sprintf("%s:%d", p.File, p.Line)
	}
}

// Severity tells what a fault means for routing.
type Severity uint8

// The severities. A Warning leaves a fabric that can be routed; an Error does
// not, or not wholly.
const (
	Warning Severity = iota + 1
	Error
)

// String names the severity.
func (s Severity) String() string {
	switch s {
	case Warning:
		return "warning"
	case Error:
		return "error"
	default:
		return fmt.Sprintf("severity(%d)", uint8(s))
	}
}

// MarshalText writes the severity's name.
func (s Severity) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// FaultKind is the sort of a fault, a short word that programs can match.
type FaultKind string

// The kinds of faults.
const (
	FaultSyntax        FaultKind = "syntax"         // a line that cannot be understood
	FaultNoise         FaultKind = "noise"          // a line that is no topology, skipped
	FaultNoPeer        FaultKind = "no-peer"        // a port line without a peer
	FaultUnknownPeer   FaultKind = "unknown-peer"   // a peer that the file does not describe
	FaultPortRange     FaultKind = "port-range"     // a port that its node has not got
	FaultPortConflict  FaultKind = "port-conflict"  // one port, two cables
	FaultOneSided      FaultKind = "one-sided"      // a cable that only one end knows
	FaultDisagree      FaultKind = "disagree"       // two ends that contradict each other
	FaultDuplicateNode FaultKind = "duplicate-node" // one GUID or ID described twice
	FaultGUID          FaultKind = "guid"           // a GUID that is zero or cannot be read
	FaultLID           FaultKind = "lid"            // a LID outside of 1..0xBFFF
	FaultDuplicateLID  FaultKind = "duplicate-lid"  // two ports that own one LID
	FaultRate          FaultKind = "rate"           // a width or speed that cannot be read
	FaultNoLink        FaultKind = "no-link"        // a node without any cable
	FaultNoSwitch      FaultKind = "no-switch"      // a fabric without a switch
	FaultIsland        FaultKind = "island"         // a component cut off from the largest
	FaultTruncated     FaultKind = "truncated"      // a file that ends within a statement
	FaultUnreachable   FaultKind = "unreachable"    // a node or port that gave no answer
	FaultLimit         FaultKind = "limit"          // more of something than can be
)

// Fault is one thing wrong with a fabric or with the file that describes it.
type Fault struct {
	Kind     FaultKind
	Severity Severity
	// At is the statement at fault; Other, where set, a second one that it
	// contradicts or should have met.
	At, Other Place
	Text      string
}

// String is one line: place, severity, text and the other place.
func (f Fault) String() string {
	var b strings.Builder
	if at := f.At.String(); at != "" {
		b.WriteString(at + ": ")
	}
	b.WriteString(f.Severity.String() + ": " + f.Text)
	if other := f.Other.String(); other != "" {
		b.WriteString(" (see " + other + ")")
	}
	return b.String()
}

// MaxFaults is how many faults of one kind a Builder lists; of those beyond it
// tells the number, in one fault of kind limit.
const MaxFaults = 1000

// faultList gathers faults, at most MaxFaults of a kind.
type faultList struct {
	list  []Fault
	kinds map[FaultKind]*faultCount
	order []FaultKind
}

// faultCount tells of the faults of one kind.
type faultCount struct {
	listed, more int
	worst        Severity // of those not listed
}

func (l *faultList) add(f Fault) {
	if l.kinds == nil {
		l.kinds = map[FaultKind]*faultCount{}
	}
	n := l.kinds[f.Kind]
	if n == nil {
		n = &faultCount{}
		l.kinds[f.Kind] = n
		l.order = append(l.order, f.Kind)
	}
	if n.listed < MaxFaults {
		n.listed++
		l.list = append(l.list, f)
		return
	}
	n.more++
	n.worst = max(n.worst, f.Severity)
}

// all is the list, and for each kind with more faults one that says so.
func (l *faultList) all() []Fault {
	for _, kind := range l.order {
		if n := l.kinds[kind]; n.more > 0 {
			l.list = append(l.list, Fault{
				Kind: FaultLimit, Severity: n.worst,
				Text: fmt.Sprintf("and %d more faults of kind %s", n.more, kind),
			})
		}
	}
	return l.list
}

// Errors returns the faults that routing cannot live with.
func Errors(faults []Fault) []Fault {
	var out []Fault
	for _, f := range faults {
		if f.Severity == Error {
			out = append(out, f)
		}
	}
	return out
}

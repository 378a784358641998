package multicast

import (
	"fmt"

	"heddle/ib"
)

// Report is what an Update or a Rebase did.
type Report struct {
	// Laid are the trees that an engine laid, Grafted those that got a branch,
	// Kept those that stayed or were pruned.
	Laid, Grafted, Kept int
	// Engine laid the last of them.
	Engine string
	// Failures are those of engines, each told once for an Update or a Rebase.
	Failures []Failure
	// Unrouted are the MLIDs whose trees no engine could lay. Where the old tree
	// can still be used it stays, and serves the ports that it reaches.
	Unrouted []ib.MLID
	// CutOff are ports that are not reached.
	CutOff []CutOff
	// Anew says that the fabric has nodes or links that it had not before, so
	// that all was numbered anew.
	Anew bool
}

// Failure is what an engine did instead of laying a tree.
type Failure struct {
	Engine string
	MLID   ib.MLID
	Err    error
}

func (f Failure) Error() string {
	return fmt.Sprintf("multicast engine %s, MLID %v: %v", f.Engine, f.MLID, f.Err)
}

// Unwrap gives the engine's error.
func (f Failure) Unwrap() error { return f.Err }

// CutOff is a port of a group that is not reached.
type CutOff struct {
	MLID ib.MLID
	Port ib.GUID
	Why  string
}

func (c CutOff) String() string { return fmt.Sprintf("MLID %v: port %v: %s", c.MLID, c.Port, c.Why) }

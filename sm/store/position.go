package store

import "fmt"

// Position names a state: the number of the last batch, from 1 on, and the
// epoch of the manager that made it. Two stores that are at the same position
// hold the same.
type Position struct{ Index, Epoch uint64 }

// String is the two numbers, such as 17@3.
func (p Position) String() string { return fmt.Sprintf("%d@%d", p.Index, p.Epoch) }

// Follows tells whether a batch at p may come after one at last.
func (p Position) Follows(last Position) bool {
	return p.Index == last.Index+1 && p.Epoch >= last.Epoch
}

package route

import (
	"fmt"
	"slices"

	"heddle/fabric"
	"heddle/ib"
)

// TooManyGroupsError tells that there are more groups than MLIDs.
type TooManyGroupsError struct {
	Groups int
}

func (e *TooManyGroupsError) Error() string {
	return fmt.Sprintf("%d groups need an MLID, there are %d (%v to %v)", e.Groups, ib.NumMLIDs, ib.FirstMLID, ib.LastMLID)
}

// TableFullError tells that a switch cannot forward all groups that have to be
// within its table: those through it, and those through switches with as small
// a table or a smaller one.
type TableFullError struct {
	// Switch is the label of the switch, Cap the number of MLIDs that it can
	// forward: those below 0xC000+Cap.
	Switch string
	Cap    int
	// Groups is the number of groups that need such an MLID.
	Groups int
}

func (e *TableFullError) Error() string {
	if e.Cap == 0 {
		return fmt.Sprintf("switch %s cannot multicast, but %d groups run through it", e.Switch, e.Groups)
	}
	return fmt.Sprintf("switch %s can forward %d groups, those below MLID %#04x; %d groups need such an MLID",
		e.Switch, e.Cap, int(ib.FirstMLID)+e.Cap, e.Groups)
}

// tableCap is the number of MLIDs that a switch can forward, from 0xC000 on.
func (g *Graph) tableCap(v int32) int {
	n := g.f.Node(g.nodes[v]).MulticastCap
	if n == fabric.CapUnknown {
		return ib.NumMLIDs
	}
	return min(int(n), ib.NumMLIDs)
}

// AssignMLIDs gives each group of a demand an MLID, by the group's number. A
// switch's table is an array from 0xC000 on, so groups whose trees run through
// small tables get low MLIDs: in the order of the least table on their way, and
// of their numbers where those are equal. If that order does not fit, none
// does, and the error is a TableFullError; a TooManyGroupsError where there are
// more groups than MLIDs.
func AssignMLIDs(s *State, d *Demand) ([]ib.MLID, error) {
	n := d.NumGroups()
	if n > ib.NumMLIDs {
		return nil, &TooManyGroupsError{n}
	}
	least, where := leastCaps(s, d)
	turn := make([]int, n)
	for i := range turn {
		turn[i] = i
	}
	slices.SortStableFunc(turn, func(a, b int) int { return least[a] - least[b] })
	mlids := make([]ib.MLID, n)
	for at, group := range turn {
		if at >= least[group] {
			return nil, tableFull(s.Graph, where[group], least)
		}
		mlids[group] = ib.FirstMLID + ib.MLID(at)
	}
	return mlids, nil
}

// leastCaps gives for each group the size of the smallest table that its tree
// needs an entry in, and the switch.
func leastCaps(s *State, d *Demand) (least []int, where []int32) {
	g := s.Graph
	caps := make([]int, g.NumVertices())
	for v := range caps {
		caps[v] = g.tableCap(int32(v))
	}
	least, where = make([]int, d.NumGroups()), make([]int32, d.NumGroups())
	for i := range least {
		least[i], where[i] = ib.NumMLIDs, -1
		t := s.Tree(i)
		if t.Root < 0 || len(d.Group(i).Members) < 2 {
			continue
		}
		note := func(v int32) {
			if caps[v] < least[i] {
				least[i], where[i] = caps[v], v
			}
		}
		note(t.Root)
		for _, e := range t.Edges {
			note(g.ends[e][0])
			note(g.ends[e][1])
		}
	}
	return least, where
}

func tableFull(g *Graph, v int32, least []int) error {
	e := &TableFullError{Switch: g.Label(v), Cap: g.tableCap(v)}
	for _, n := range least {
		if n <= e.Cap {
			e.Groups++
		}
	}
	return e
}

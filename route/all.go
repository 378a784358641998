package route

import (
	"fmt"
	"time"
)

// Router lays trees one at a time. It reads the state's load and does not
// change the state. A Router is made for one graph and hop table, and is not
// safe for concurrent use.
type Router interface {
	// Route returns the tree of a group with these leaves, two or more and of
	// one component, whose root may be any of the centers. The tree's edges are
	// valid until the next call.
	Route(s *State, leaves []int32, c Centers) Tree
}

// Improver is a Router that can better a state after all groups are routed.
type Improver interface {
	Router
	Improve(s *State, d *Demand, f Finder)
}

// Timing tells how long routing took.
type Timing struct {
	// Roots is the time spent on finding centers, Trees all else.
	Roots, Trees time.Duration
}

// NoRootError tells that no switch is above all of a group's leaves, as can be
// in an ordered graph.
type NoRootError struct {
	Group int
	Name  string
}

func (e *NoRootError) Error() string {
	return fmt.Sprintf("group %d %s: no switch leads down to all members in this order", e.Group, e.Name)
}

// All routes all groups of a demand, in order, into the state. now is the clock
// that Timing is read from.
func All(s *State, d *Demand, f Finder, r Router, now func() time.Time) (Timing, error) {
	var t Timing
	start := now()
	for i := range d.NumGroups() {
		leaves := d.Leaves(i)
		if len(leaves) < 2 {
			s.Put(i, Flat(leaves))
			continue
		}
		before := now()
		c := f.Find(leaves)
		t.Roots += now().Sub(before)
		if c.Radius == Far {
			return t, &NoRootError{i, d.Group(i).Name}
		}
		s.Put(i, r.Route(s, leaves, c))
	}
	if im, ok := r.(Improver); ok {
		im.Improve(s, d, f)
	}
	t.Trees = now().Sub(start) - t.Roots
	return t, nil
}

// One routes one group, against the load of all others.
func One(s *State, group int, leaves []int32, f Finder, r Router) error {
	s.Take(group)
	if len(leaves) < 2 {
		s.Put(group, Flat(leaves))
		return nil
	}
	c := f.Find(leaves)
	if c.Radius == Far {
		return &NoRootError{Group: group}
	}
	s.Put(group, r.Route(s, leaves, c))
	return nil
}

// Flat is the tree of a group on one switch, or on none.
func Flat(leaves []int32) Tree {
	if len(leaves) == 0 {
		return Tree{Root: -1}
	}
	return Tree{Root: leaves[0]}
}

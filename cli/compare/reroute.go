package compare

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"

	"heddle/fabric"
	"heddle/route"
	"heddle/route/multicast"
)

// Loss is what dies.
type Loss struct {
	Nodes []fabric.NodeID
	Links []fabric.LinkID
}

// ErrNoLoss is of a fabric that has nothing of the kind that is to die.
var ErrNoLoss = errors.New("nothing to lose")

// Rerouting is how long it took to get from the trees of one fabric to those of
// the fabric after a loss, in milliseconds.
type Rerouting struct {
	// GraphMs and HopsMs mend the graph and the hop table, RebaseMs finds the
	// trees that are lost, RouteMs lays them anew, with a new finder and a new
	// router. TotalMs is the sum.
	GraphMs  float64 `json:"graphMs"`
	HopsMs   float64 `json:"hopsMs"`
	RebaseMs float64 `json:"rebaseMs"`
	RouteMs  float64 `json:"routeMs"`
	TotalMs  float64 `json:"totalMs"`
	// Lost counts the groups whose trees were lost: no others are touched.
	Lost int `json:"lost"`
	// MaxBefore and MaxAfter are the maximum EFI.
	MaxBefore int `json:"maxBefore"`
	MaxAfter  int `json:"maxAfter"`
}

// Reroute routes all groups, takes the loss out of the fabric, and routes anew
// what was lost. The groups' members must all be reachable after the loss. The
// error is ErrNoLoss where the loss is empty, or of an engine that fails, or of
// trees that are wrong afterwards.
func (p *Problem) Reroute(r Run, loss func(*route.State) Loss) (all Timing, again Rerouting, err error) {
	s, row := p.lay(r)
	if row.Error != "" {
		return row.Timing, Rerouting{}, fmt.Errorf("%s: %s", r.Label(), row.Error)
	}
	before := trees(s, p.Demand)
	again.MaxBefore = s.Top()
	what := loss(s)
	if len(what.Nodes)+len(what.Links) == 0 {
		return row.Timing, again, ErrNoLoss
	}
	f := p.Graph.Fabric().Without(what.Nodes, what.Links)
	runtime.GC()
	lost, err := p.mend(s, f, r, &again)
	if err != nil {
		return row.Timing, again, err
	}
	again.Lost, again.MaxAfter = len(lost), s.Top()
	return row.Timing, again, judge(s, p.Demand, before, lost)
}

// mend does what is timed.
func (p *Problem) mend(s *route.State, f *fabric.Fabric, r Run, t *Rerouting) ([]int, error) {
	start := time.Now()
	last := start
	lap := func() float64 {
		now := time.Now()
		d := now.Sub(last)
		last = now
		return ms(d)
	}
	g := p.Graph.On(f)
	t.GraphMs = lap()
	h, err := p.Hops.On(g)
	if err != nil {
		return nil, err
	}
	t.HopsMs = lap()
	lost := s.Rebase(g, h)
	t.RebaseMs = lap()
	finder := route.NewFinder(h)
	router := r.Engine.New(g, h, multicast.Options{Effort: r.Effort})
	for _, group := range lost {
		if err := route.One(s, group, p.Demand.Leaves(group), finder, router); err != nil {
			return nil, err
		}
	}
	t.RouteMs = lap()
	t.TotalMs = ms(time.Since(start))
	return lost, nil
}

// trees copies the edges of all trees.
func trees(s *route.State, d *route.Demand) [][]int32 {
	list := make([][]int32, d.NumGroups())
	for i := range list {
		list[i] = slices.Clone(s.Tree(i).Edges)
	}
	return list
}

// judge finds trees that are wrong, and trees that changed without need.
func judge(s *route.State, d *route.Demand, before [][]int32, lost []int) error {
	if faults := check(s, d); len(faults) > 0 {
		return fmt.Errorf("after rerouting: %s", faults[0])
	}
	for i, edges := range before {
		if !slices.Contains(lost, i) && !slices.Equal(edges, s.Tree(i).Edges) {
			return fmt.Errorf("group %d lost nothing, but has another tree", i)
		}
	}
	return nil
}

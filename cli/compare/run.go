package compare

import (
	"fmt"
	"runtime"
	"slices"
	"time"

	"heddle/route"
	"heddle/route/multicast"
)

// Run is one engine with one effort.
type Run struct {
	Engine multicast.Engine
	// Effort is 0 for an engine that knows none.
	Effort int
	// Finder makes what finds roots; route.NewFinder where it is nil.
	Finder func(*route.Hops) route.Finder
	// Watch, where set, is told how many more groups have been routed, now and
	// then.
	Watch func(groups int)
}

// Label is the engine's name, with the effort if there is one: weave/2.
func (r Run) Label() string { return label(r.Engine.Name, r.Effort) }

// slowOracle is the engine that "all" leaves out: its trees have the costs of
// another engine's, and it takes up to a hundred times as long.
const slowOracle = "sssp-new-heap"

// Runs lists the runs of some engines, all of them for the name "all", with each
// effort for those that know any. An error names the engine or the effort that
// there is not.
func Runs(names []string, efforts []int) ([]Run, error) {
	var runs []Run
	for _, name := range names {
		engines, err := lookup(name)
		if err != nil {
			return nil, err
		}
		for _, e := range engines {
			more, err := effortsOf(e, efforts)
			if err != nil {
				return nil, err
			}
			runs = append(runs, more...)
		}
	}
	return runs, nil
}

func lookup(name string) ([]multicast.Engine, error) {
	if name == "all" {
		return slices.DeleteFunc(multicast.Engines(), func(e multicast.Engine) bool { return e.Name == slowOracle }), nil
	}
	e, err := multicast.Lookup(name)
	return []multicast.Engine{e}, err
}

func effortsOf(e multicast.Engine, efforts []int) ([]Run, error) {
	if e.Efforts == 0 {
		return []Run{{Engine: e}}, nil
	}
	var runs []Run
	for _, effort := range efforts {
		if effort < 1 || effort > e.Efforts {
			return nil, fmt.Errorf("%s has no effort %d; there are 1 to %d", e.Name, effort, e.Efforts)
		}
		runs = append(runs, Run{Engine: e, Effort: effort})
	}
	return runs, nil
}

// Result is what a run gave.
type Result struct {
	Row
	// State holds the trees.
	State *route.State
	// Measures are the measures that Row has the most important of.
	Measures route.Measures
	// Cycle is an example of a cycle of channel dependencies.
	Cycle route.Cycle
}

// Route lays the trees of all groups, with a new finder and a new router, whose
// making counts as time, and judges them. An engine that fails gives a Row whose
// Error says why.
func (p *Problem) Route(r Run) Result {
	s, row := p.lay(r)
	row.PeakBytes = peakBytes()
	p.describe(&row)
	result := Result{Row: row, State: s, Measures: route.Measure(s, p.Demand)}
	result.measure(result.Measures)
	if row.Error != "" {
		return result
	}
	result.Faults = check(s, p.Demand)
	result.Valid = len(result.Faults) == 0
	dependencies := route.NewDependencies(p.Graph)
	dependencies.AddTrees(s)
	result.Cycle = dependencies.Cycle()
	result.Cyclic = result.Cycle.Cyclic()
	return result
}

// Lay only lays the trees and times that.
func (p *Problem) Lay(r Run) (Timing, error) {
	_, row := p.lay(r)
	if row.Error != "" {
		return row.Timing, fmt.Errorf("%s: %s", r.Label(), row.Error)
	}
	return row.Timing, nil
}

func (p *Problem) lay(r Run) (*route.State, Row) {
	newFinder := r.Finder
	if newFinder == nil {
		newFinder = route.NewFinder
	}
	s := route.NewState(p.Graph, p.Hops)
	runtime.GC() // so that no engine pays for what another left
	start := time.Now()
	finder := newFinder(p.Hops)
	made := time.Since(start)
	if r.Watch != nil {
		finder = &watched{Finder: finder, watch: r.Watch}
	}
	router := r.Engine.New(p.Graph, p.Hops, multicast.Options{Effort: r.Effort})
	timing, err := route.All(s, p.Demand, finder, router, time.Now)
	total := time.Since(start)
	roots := timing.Roots + made
	row := Row{Engine: r.Engine.Name, Effort: r.Effort, Timing: Timing{ms(roots), ms(total - roots), ms(total)}}
	if err != nil {
		row.Error = err.Error()
	}
	return s, row
}

// watched tells how often roots were found, which is once for each group and
// once more for each that is routed again.
type watched struct {
	route.Finder
	watch func(int)
	calls int
}

func (w *watched) Find(leaves []int32) route.Centers {
	const often = 64
	if w.calls++; w.calls%often == 0 {
		w.watch(often)
	}
	return w.Finder.Find(leaves)
}

func check(s *route.State, d *route.Demand) []string {
	var texts []string
	for _, fault := range route.Check(s, d) {
		texts = append(texts, fault.String())
	}
	return texts
}

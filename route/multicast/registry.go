package multicast

import (
	"fmt"
	"strings"

	"heddle/route"
)

// Options are the settings that engines take; each reads what concerns it.
type Options struct {
	// Effort of weave: 1 (the default, also for 0), 2 or 3.
	Effort int
}

// Engine describes a routing engine.
type Engine struct {
	Name string
	// Doc is one line for a list of engines.
	Doc string
	// Efforts is the highest effort that the engine knows, 0 for an engine that
	// knows none.
	Efforts int
	// New makes a router for a graph and its hop table.
	New func(*route.Graph, *route.Hops, Options) route.Router
}

// Engines lists the engines, in the order of the paper.
func Engines() []Engine {
	return []Engine{
		{"minihop", "OpenSM's default: first root, first port of least hops, top-down", 0, newMinihop},
		{"minihop-new", "minihop with root rotation", 0, newMinihopNew},
		{"sssp", "DFSSSP as in the paper: first root, shortest paths by load", 0, newSSSP},
		{"sssp-new", "sssp with root rotation", 0, newSSSPNew},
		{"sssp-new-heap", "sssp-new as in the paper: Dijkstra over all switches for each group", 0, newSSSPHeap},
		{"fulb", "FULB-MC: root and link rotation, bottom-up", 0, newFULB},
		{"weave", "ours: trees chosen by cost among many, rerouted with more effort", 3, newWeave},
	}
}

// Lookup finds an engine by name.
func Lookup(name string) (Engine, error) {
	var names []string
	for _, e := range Engines() {
		if e.Name == name {
			return e, nil
		}
		names = append(names, e.Name)
	}
	return Engine{}, fmt.Errorf("no engine %q; there are %s", name, strings.Join(names, ", "))
}

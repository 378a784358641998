package unicast

import (
	"fmt"
	"strings"

	"heddle/route"
)

// Options are the settings that engines take; each reads what concerns it.
type Options struct {
	// Workers is the number of goroutines, at least 1.
	Workers int
	// Roots of updown, as vertices; where empty, updown finds its own.
	Roots []int32
	// Connect lets updown connect switches between which no path is allowed:
	// what a subnet manager needs to be told of traps, at the price of turns
	// that could be part of a deadlock. Adapters are connected in any case.
	Connect bool
}

// Engine describes a routing engine.
type Engine struct {
	Name string
	// Doc is one line for a list of engines.
	Doc string
	// Route fills the tables of the switches of a graph, which has no order, for
	// all LIDs, by the graph's hop table. A switch from which there is no path
	// to a LID has no port for it.
	Route func(*route.Graph, *route.Hops, *route.LIDs, Options) (*route.LFTs, error)
}

// Engines lists the engines.
func Engines() []Engine {
	return []Engine{
		{"minhop", "fewest hops, balanced over equal ports, as OpenSM's default", minhop},
		{"updown", "first up, then down, by ranks from given or computed roots: no deadlock", updown},
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
	return Engine{}, fmt.Errorf("no unicast engine %q; there are %s", name, strings.Join(names, ", "))
}

package compare

import (
	"runtime"
	"time"

	"heddle/fabric"
	"heddle/route"
)

// Network is a fabric made ready for routing.
type Network struct {
	Graph *route.Graph
	Hops  *route.Hops
	// HopsTime is how long the hop table took.
	HopsTime time.Duration
}

// NewNetwork makes the graph of a fabric's switches that can multicast, under an
// order if there is one, and its hop table, with as many workers as Go may use
// processors.
func NewNetwork(f *fabric.Fabric, order route.Order) (*Network, error) {
	g := route.NewGraph(f, route.Selection{MulticastOnly: true, Order: order})
	start := time.Now()
	h, err := route.NewHops(g, runtime.GOMAXPROCS(0))
	if err != nil {
		return nil, err
	}
	return &Network{g, h, time.Since(start)}, nil
}

// Problem is what engines are compared on: groups on a network.
type Problem struct {
	*Network
	Demand *route.Demand
	// DemandTime is how long it took to find the leaf switches of all members.
	DemandTime time.Duration
	// Bound is a proven lower bound of the maximum EFI of any trees.
	Bound int
}

// Problem puts groups on the network.
func (n *Network) Problem(groups []fabric.Group) *Problem {
	start := time.Now()
	d := route.NewDemand(n.Graph, groups)
	return &Problem{Network: n, Demand: d, DemandTime: time.Since(start), Bound: route.LowerBound(n.Graph, d, n.Hops)}
}

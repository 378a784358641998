// Package route is what routing through a fabric is: the switch graph, tables
// of hops, forwarding tables, multicast trees and their load; measures of how
// good they are, and checks that do not rely on the engines that made them.
//
// The way of a set of groups:
//
//	g := route.NewGraph(f, route.Selection{MulticastOnly: true})
//	h, err := route.NewHops(g, runtime.NumCPU())
//	d := route.NewDemand(g, groups)
//	s := route.NewState(g, h)
//	r := engine.New(g, h, multicast.Options{}) // of heddle/route/multicast
//	timing, err := route.All(s, d, route.NewFinder(h), r, time.Now)
//	m := route.Measure(s, d)    // height, EFI
//	faults := route.Check(s, d) // independent of the engine
//
// All indices are small integers: a switch is a vertex, a cable between two
// switches an edge, see [Graph]. The edge forwarding index (EFI) of an edge is
// the number of trees that use it; the figure of merit is its maximum, the cost
// its mean. A tree is rooted at a switch whose greatest distance to a member is
// the least possible, and no member is farther from the root than that: the
// tree has minimal height. An adapter counts one hop more than its switch.
//
// The algorithms are those of FULB-MC (Computer Engineering and Applications
// 58(5), 2022) and our own.
package route

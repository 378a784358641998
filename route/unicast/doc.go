// Package unicast has the engines that fill linear forwarding tables, one file
// each, and their registry, [Engines].
//
//	g := route.NewGraph(f, route.Selection{})
//	h, err := route.NewHops(g, 2)
//	lids, err := route.LIDsOf(f)
//	spec, err := unicast.Lookup("minhop")
//	tables, err := spec.Route(g, h, lids, unicast.Options{Workers: 2})
//
// All engines choose, for each switch and destination, among the ports that
// lead there on an allowed path of fewest hops; they differ in which paths are
// allowed. Among these ports the one that fewest LIDs were given is taken, as
// in OpenSM. Only LIDs of end nodes count, those of switches are little used.
package unicast

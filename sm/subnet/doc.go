// Package subnet is what a subnet told of itself: its nodes, their ports and
// links, found by asking them along directed routes, without need of LIDs or
// of tables in the switches.
//
// A walk is the plain part: it says what to ask next and takes the answers; it
// has no clock and no socket. Sweep asks for it through a umad.Port, many
// things at once, few of one node that is known, as agents have few buffers.
// What does not answer is a fault that names the path to it; the rest is found
// all the same.
//
//	seen, err := subnet.Sweep(ctx, port, subnet.Options{})
//	...
//	for _, n := range seen.Nodes { fmt.Println(n.Label(), n.Path) }
package subnet

// Package topology generates fabrics of well-known forms from a short text:
//
//	f, err := topology.Generate("dragonfly:a=18,p=9,h=9")
//
// [Names] lists the forms and [Usage] explains one. All take these options:
//
//	rate=4xNDR    width and speed of all links (4xHDR)
//	mcap=N        the number of MLIDs that each switch can forward (not known)
//	lost=0.1      leave out this share of the cables between switches, chosen
//	              by seed=N (1); their ports stay, empty
//
// The same text gives the same fabric always.
//
// The switches have the first node indices, in the order that the form gives,
// then come the end nodes (one adapter with one port each) in the order of
// their switches and ports, so that [fabric.Fabric.EndPorts] is "aware" order.
// On a switch the ports to other switches come first, by default in ascending
// order of the neighbour's index; torus, mesh, hypercube and dragonfly have an
// order of their own. The ports to end nodes come last.
//
// Node GUIDs are of the locally administered kind; the GUID of an adapter's
// port is that of its node plus the port number. LIDs run from 1 through the
// switches and then the adapters; where the unicast LIDs do not suffice, no
// port has one.
package topology

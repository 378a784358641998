// Package fabric is the graph of an InfiniBand subnet: nodes, their ports, and
// the links (cables) between them.
//
// A [Fabric] is immutable. A [Builder] makes one: a reader of a topology file
// or a generator states nodes and cables, each with its [Place], and Build
// returns the graph together with every [Fault] that was found, in the file and
// in the graph, instead of stopping at the first.
//
// Nodes are keyed by GUID; a name is a label that may repeat. Nodes, links and
// ends are named by small integers ([NodeID], [LinkID], [End]), so that tables
// about them are flat arrays. [Fabric.Without] and [Fabric.With] give a changed
// fabric (a dead switch, a cut cable, one that came back) in which all indices
// mean the same as before: load, trees and tables kept by index stay valid.
//
// A [Group] is a list of member ports: what a multicast tree has to reach.
package fabric

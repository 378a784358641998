// Package multicast has the engines that lay multicast trees, one file each,
// and their registry, [Engines].
//
// minihop and sssp are what OpenSM does today, as the FULB-MC paper describes
// it, minihop-new and sssp-new the same with the paper's root rotation, fulb is
// the paper's own algorithm, and weave is ours. All keep the minimal height;
// they differ in how evenly they spread the trees over the links, and in time.
//
//	spec, err := multicast.Lookup("weave")
//	router := spec.New(graph, hops, multicast.Options{Effort: 1})
package multicast

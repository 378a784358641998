// Package format reads and writes fabrics as files: what ibnetdiscover prints,
// net files of the simulator ibsim, OpenSM's subnet.lst, and heddle's own JSON;
// it writes Graphviz dot and Slurm's topology.conf too.
//
// [Read] tells the format by the contents. A reader takes what it understands
// and reports the rest as faults, each with its line: real dumps hold messages
// of tools, prompts of shells, lines that were cut, LIDs that cannot be. It
// uses no more than a small multiple of the file's size, and linear time,
// whatever the file holds.
//
//	f, faults, err := format.ReadFile("cluster.topo", "")
//	if err != nil {
//		return err // no topology, or not readable
//	}
//	for _, fault := range faults {
//		fmt.Println(fault) // cluster.topo:17: warning: ...
//	}
//	err = format.Write(os.Stdout, f, "ibsim")
//
// # What the formats keep
//
// The nodes of a fabric and their order, kinds, names, numbers of ports, the
// links and their rates are kept by all formats that can be read, with these
// exceptions:
//
//	json           nothing is lost
//	ibnetdiscover  ports without a link have no LID and no GUID; the multicast
//	               capacity is not known; control characters become blanks;
//	               an adapter is an aggregation node by its name
//	ibsim          the same, and ports without a GUID get what ibsim derives
//	subnet.lst     nodes without a link are lost, and LMCs, enhanced ports 0 and
//	               IDs; nodes stand in the order of their links; "} LID:" in a
//	               name, which would end it, becomes ") LID:"
//
// Dead nodes and links are left out by all. An ID that a file cannot hold is
// replaced by that of ibnetdiscover's form, and a name is cut at 1,024 bytes.
package format

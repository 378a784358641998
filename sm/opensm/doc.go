// Package opensm reads and writes the files of OpenSM, so that heddle's subnet
// manager can take its place: administrators keep their configuration, ports
// keep their LIDs, and tools find the dumps that they know.
//
//	config, report, err := opensm.ReadConfig(file, "opensm.conf")
//	...
//	kept, faults, err := opensm.ReadLIDs(file, "guid2lid")
//	...
//	err = opensm.WriteSubnetLst(file, view)
//
// OpenSM's tables of forwarding are in package route/format, its partitions.conf
// in sm/partition. The forms are those of OpenSM 3.3.23, as its manual tells them
// and as it writes the files.
package opensm

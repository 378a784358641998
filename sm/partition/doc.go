// Package partition reads the partitions of a subnet in OpenSM's form, the file
// partitions.conf, and says which P_Keys each port should hold and which
// multicast groups are there from the beginning. It is pure.
//
//	config, faults, err := partition.Read(file, partition.Options{Name: "partitions.conf"})
//	...
//	keys := config.Resolve(partition.Port{GUID: guid, Kind: partition.Adapter})
//
// # Form
//
//	Default=0x7fff, ipoib : ALL=full ;     # comment
//	Store=0x80, ipoib, mtu=4096, rate=200, defmember=full :
//	    0x0002c90300001234, 0x0002c90300001235=limited, SELF
//	    mgid=ff12:401b::16, sl=1           # a group, to the end of its line
//	    ALL_SWITCHES=limited ;
//
// A definition names a partition, then says what it is: its P_Key, of which the
// low 15 bits count (the lowest that is free where none is given), indx0 where
// it belongs at the first index of tables, ipoib where it has the broadcast
// group of IP over InfiniBand, defmember for members without a membership of
// their own (else limited), and the parameters of its groups: rate, mtu, sl,
// scope, Q_Key, TClass and FlowLabel. Several definitions of one P_Key add up.
//
// Members are port GUIDs and the words ALL, ALL_CAS, ALL_SWITCHES,
// ALL_ROUTERS, ALL_VCAS and SELF, the manager's own port. Where several name a
// port, the last one counts. A membership of both stands for two P_Keys where
// Options allow them, and else for full.
//
// # The default partition
//
// Every port is at least a limited member of the partition 0x7fff, and the
// manager's own port a full one, whatever the file says. Without any definition
// all are full members, and IP over InfiniBand has it.
//
// # Differences to OpenSM
//
// OpenSM drops the whole file after some faults, and takes others silently as
// something else. Here each fault is told with its line and column, and the
// rest is used. MTU and rate may be given as sizes and speeds as well as by
// their codes. The broadcast group is made for the scopes that are named as
// well as for link-local. The manager's own port cannot lose its full
// membership in the default partition.
package partition

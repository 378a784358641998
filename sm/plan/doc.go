// Package plan is what a subnet manager wants of its subnet, and how to get
// there: pure functions from what was seen and what is held to stages of SMPs.
//
// Each planner takes a subnet.View, the configuration, and Held, which is what
// the switches' tables are known to hold; it returns Stages. The SMPs of one
// stage may be sent in any order and many at once; a stage begins when all of
// the one before are answered. What the switches hold already is not sent.
//
// The order of a whole sweep is that of OpenSM: P_Keys, LIDs, unicast tables,
// lanes, multicast tables, link settings, ports to Armed, ports to Active.
//
// # Lanes
//
// Where all partitions and groups, and the way to the subnet manager, have
// service level 0, nothing depends on which lanes the other levels go by, and
// the tables of the lanes stay as the devices have them: they are neither read
// nor written, and a sweep costs nothing for them. OpenSM does the same without
// its option qos. As soon as another level is in use, or QoSRules.Always says
// so, each port that can have several lanes gets a SLtoVLMapping that uses the
// lanes which its link has, and arbitration tables. What a port holds is read
// once since its node came, a SMP for each pair of ports of a switch; what it
// holds already is not written. A switch with optimized programming
// (SwitchInfo:OptimizedSLtoVLMappingProgramming) is not read, and gets one SMP
// for each port by which packets go out.
package plan

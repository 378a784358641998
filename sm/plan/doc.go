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
package plan

// Package sa asks subnet administration: for records of the subnet, for
// membership in multicast groups, for reports of events, and for services.
//
//	client := sa.New(port, sa.Options{})
//	nodes, err := sa.Query(ctx, client, mad.NodeRecord{}, 0)
//	...
//	member, err := client.Join(ctx, mad.MCMemberRecord{MGID: mgid, JoinState: mad.JoinFull}, 0)
//
// A query is a record of which some fields count: those whose components are in
// the mask. Records are values of package mad, all of which can be asked for.
//
// Subnet administration answers over datagrams, which may get lost, and may say
// that it is busy. The client sends again, and waits longer each time for one
// that is busy, until the context ends. What it refuses is a *umad.StatusError.
package sa

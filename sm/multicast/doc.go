// Package multicast goes from groups to what the multicast forwarding tables
// of the switches should hold, and finds a way there on which no packet can
// loop or arrive twice. It is a pure core: no clock, no goroutine of its own
// that outlives a call, no input or output.
//
//	r, err := multicast.New(multicast.Config{Engines: engines})
//	...
//	report, err := r.Rebase(view)        // after each sweep
//	batch := groups.Take(now, group.Everything)
//	report := r.Update(batch, groups)    // after each window of joins
//	...                                  // read the blocks of r.Unknown(held)
//	p := r.Plan(held)                    // the stages of SMPs
//	...                                  // send them, with a barrier between
//	if len(r.Unsettled(held)) == 0 {     // all is in the switches
//		groups.Removed(now, batch.ID)
//		groups.Programmed(now, batch.ID)
//	}
//
// # Trees
//
// A tree is changed as little as its height allows. A new member whose switch
// is in the tree adds one entry; another one is grafted by the shortest branch
// after which the tree is still as low as any can be (see [route.Measure]),
// and of those by the one with the least load. Where there is none, and where a
// group had no tree, the engine lays it: the groups of one Update in one pass,
// bettered together where the engine can do so. A leave prunes branches and
// does nothing else.
//
// When the fabric changes, a tree stays where all that it uses is still there.
//
// # Who is reached
//
// Receivers have an entry for their port. A port that only sends has none, but
// its switch is in the tree, whose links are in the tables of both ends, so
// that its packets get in. A group of fewer than two ports, or without a
// receiver, has no entry. What cannot be reached is named in the Report: a port
// that is not there, one on a switch that cannot multicast or whose table ends
// below the MLID, and those that are on another island than most of the group.
//
// # The way there
//
// Take one MLID. Call a link used when the table of either of its ends sends
// to it. As long as the used links have no cycle, a packet that never leaves by
// the port that it came in by cannot come to a switch twice: it does not loop,
// and does not arrive twice. So let T be the links used before, U those of the
// wanted tree. Each is a forest. Pick A from U\T such that T+A has no cycle,
// and B from T\U such that U+B has none, as large as they get. A plan has two
// stages. In the first go all entries of T\U outside of B, in the second come
// all of U\T outside of A. The rest, A, B and the ports of members, may change
// in either stage. Whatever part of a stage has been done:
//
//   - in the first, what is used is within T+A: no cycle;
//   - after it, nothing is left of T\U outside of B;
//   - in the second, what is used is within U+B: no cycle.
//
// A block of a table that changes in one stage only is one Set. It takes two
// only where an entry has to go in it before all others have gone, and another
// one may come only then. Where nothing has to go first, there is one stage.
//
// What is guaranteed at every moment, if before the plan the tables had no
// cycle: no packet loops, none arrives twice, and none goes to a port that is
// a receiver neither before nor after. Two ports that stay, and whose path is
// the same before and after, reach each other throughout. Others may lose each
// other until the plan is done. Where the tables had a cycle, the guarantee
// begins after the first stage. So it does where they are not known: then blocks
// that are to be written are cleared in the first stage, in which all goes that
// is not to stay. See Unknown.
//
// That is said of links that carried data before. A switch or a cable that was
// gone and is back may have entries of old, so its ports should become Active
// only after the plan is done, as is the order of a sweep anyway.
//
// A switch may have a MulticastFDBTop, beyond which it forwards nothing. Blocks
// below a top that is to rise are read, and cleared where something is left in
// them, before the last stage has it rise: what another manager wrote there does
// not come alive.
//
// A second stage may be sent only after all SMPs of the first were answered
// well. Where one was not, let held forget the block (plan.Held.Unsure), read it,
// and ask for a new plan.
package multicast

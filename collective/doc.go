// Package collective gives groups of ranks the operations of parallel programs:
// [Group.Bcast], [Group.Barrier], [Group.AllGather], [AllReduce] and [Reduce].
//
// Its heart is a reliable broadcast. A root keeps what it sends in a ring that all
// others may READ, and sends each chunk of it once, as a multicast datagram, which
// the switches carry down a tree. Who misses a chunk READs it: from the neighbour
// on the left first, which keeps the same ring, and then from the root. The root
// does nothing for that. What it waits for is room: a chunk of the ring is written
// anew when all readers that still count have told that they are past it.
//
//	root    ring of slots | tails, a word of each reader     -- multicast -->
//	reader  the same ring, filled by datagrams and by READs  <-- READ -- reader
//
// # From nothing to a broadcast
//
//	g, err := collective.New(ctx, device, rank, size, exchange, collective.Config{Joiner: group})
//	err = g.Bcast(ctx, 0, buf)                  // of rank 0 to all others
//	err = g.Barrier(ctx)
//	err = collective.AllReduce(ctx, g, gradients, collective.Sum[float32])
//	err = g.Close()
//
// The device is an opened verbs.Context. An [Exchange] carries what ranks have to
// know of each other before: [LocalExchange] within a process, [ListenExchange] and
// [DialExchange] over TCP, or a launcher's own. A [Joiner] is how a rank comes into
// the multicast group: [Multicast] where the group needs no joining.
//
// # What a network has to have
//
// With multicast datagrams, READ and WRITE a group works as above ([ByMulticast]).
// Without multicast readers READ all, from their parent in a binomial tree or from
// the root ([ByRead]). Without READ or WRITE messages go down that tree over
// channels ([ByTree]). All ranks have to find the same, and New fails where they
// do not. No order of bytes or requests is relied on: each slot has a checksum.
//
// # Who may call what
//
// The operations of a group are for one goroutine at a time, and all ranks call
// the same ones in the same order, as with MPI. Stats may be called by any
// goroutine. Between operations a goroutine of the group takes what datagrams bring;
// the memory of a rank can be READ at any time.
package collective

// Package shm joins processes of one host: a device whose network is memory that
// they share. There is one, shm0, on Linux on amd64 and arm64; two contexts of
// one process reach each other as well.
//
// # How it works
//
// Memory is files without names (memfd). A context has a socket in the abstract
// namespace; [verbs.QP.Endpoint] names it, and holds a secret of the QP. Of two
// QPs that Connect, the one whose endpoint is the lesser dials the other, and the
// call returns when both have made it. They pass each other descriptors by that
// socket, and keep it open: its end is the peer's death.
//
//	rings   two of them, one for each direction: SENDs and what tells of a
//	        WRITE_WITH_IMM; one writer, one reader, no lock
//	bell    a word of each context on which its waits sleep (futex)
//	board   a word for each region of a context: whether it is valid; peers
//	        cannot write to it
//	region  asked for over the socket when a remote key is first used, and mapped
//	loan    a region that its owner SENDs much from, which the receiver maps to read
//
// WRITE, READ and atomics are done by who posts them, before PostSend returns:
// the target needs no CPU. A WRITE copies and then stores the longest naturally
// aligned word of 1, 2, 4 or 8 bytes that ends at its last byte, as a release:
// that is what Caps.WriteOrder says, and no more, for the copy itself has no
// order. A READ loads words in ascending order. Atomics are those of the CPU.
//
// A SEND waits in the ring until the receiver's context looks at it: in Poll,
// Wait, PostRecv after a want of buffers, or by a goroutine when the sender has
// waited for some 50 microseconds and says so over the socket. Only then does it
// meet its buffer, in private memory of the receiver, and only then does it
// complete at the sender. What is posted behind it, one-sided requests too,
// completes after it, but may be in memory before it.
//
// A SEND of RC is not copied to the ring where 16 KiB or more of it lie in one piece
// of a region that the peer could READ, by the rights of region and QP: the ring has
// their address, and the receiver copies them to its buffer. The first SENDs from a
// region are copied still, until the peer has said that it has mapped it.
//
// # Waiting
//
// Await and CQ.Wait look again and again for some 40 microseconds (100, with more
// than two CPUs), and then sleep in the kernel. A goroutine that sleeps so keeps
// a thread. Any WRITE, atomic or message from a peer wakes who sleeps. The barrier
// between what is stored and the look at the bell is the sleeper's, who has all CPUs
// pass one (membarrier); where there is no such call, it is the waker's.
//
// # Who is trusted
//
// A peer that was given a region can write to all of its file, until it unmaps
// it: rights, bounds and closing an MR are kept by the initiator, as it is the
// one who writes. So there should be one file for each region, which is what
// verbs.NewMemory makes. A region without RemoteWrite and RemoteAtomic is given
// as a descriptor for reading; that keeps out other users, whereas a process of
// the same user could open it again. What a QP lends is for reading, whatever the
// rights. Nothing else is in a peer's hands: what it
// writes into rings is checked, lengths are sealed, and it can spoil the QP that
// it is connected to, and wake its context for nothing or keep it asleep for 50
// milliseconds at a time, and for a second where that has waited for long. Files of
// huge pages are refused: a peer could make holes in them that cannot be filled
// again. Nothing waits for a peer to read its socket; one that asks for regions and
// does not read the answers loses its connection.
// Who has no endpoint gets no further than the socket, where 64 may wait for 5
// seconds to say who they are; the oldest of them goes for the next.
//
// # Faults
//
// When a peer dies, EventPeerGone is reported, the QP goes to ERR, the oldest
// request completes with StatusRetryExceeded and the others as flushed, at once.
// A peer that closes its QP in order is reported so too, but the QP stays until
// the next request. A peer that is stopped, or does not come to run, for four
// times Timeout and the retries fails a SEND in the same way; one-sided requests
// do not notice. That time begins when the peer was asked to look at its ring, over
// the socket, and has not said that it does.
//
// # What is not there
//
// GIDs and LIDs, multicast, memory windows, device memory, and a QP connected to
// itself. An address for datagrams is made by PD.ResolveAH from an endpoint.
// Datagrams to a QP that has no room for them are lost.
package shm

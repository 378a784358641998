// Package channel sends messages over RDMA devices: from a sender to a receiver,
// by one of many protocols, of which a program takes the one that fits what it
// needs and what its network can do. They are the twenty channels of the paper
// "Efficient RDMA Communication Protocols" (ACM SIGCOMM CCR, January 2023) and
// two of this project's own that need no order of bytes.
//
// # Kinds
//
// A [Kind] is a protocol. [Kinds] lists them all, with the [Features] that each
// declares and the [Needs] that it has of a device; [Find] takes a name:
//
//	send, send-shared                      two-sided SENDs
//	slot-bell, slot-flag, slot-imm, ...    WRITEs to slots of one size
//	ring-zero, ring-bell, ring-flag, ...   WRITEs to a ring
//	shared-bell, ...                       WRITEs of many senders to one ring
//	fetch-bell, ...                        READs of a slot of the sender
//	cast-bell, ...                         READs of a ring of the sender, by many readers
//	ring-cell, shared-cell                 WRITEs to rings whose cells are tagged
//
// What tells the receiver that a message is there is a bell behind the message
// itself, a flag in a word of its own, an immediate, or a SEND.
//
// # From devices to a message
//
//	t, err := channel.NewTransport(device)           // an opened verbs.Context
//	kind, err := channel.Find("ring-bell")
//	r, err := t.NewReceiver(kind, channel.Config{})
//	s, err := t.NewSender(kind, channel.Config{})    // mostly of another process
//	err = channel.Join(ctx, s, r)                    // in one process
//
//	lease, err := s.Reserve(ctx, 100)                // registered memory
//	n := copy(lease.Bytes(), "news")
//	err = lease.Commit(n)
//
//	m, err := r.Receive(ctx)
//	use(m.Bytes())
//	m.Release()
//
// Between processes each end makes an invitation for a peer ([Sender.Invite],
// [Receiver.Invite]), its words are carried to the other side by whatever way,
// and [Peer.Attach] takes them. A [Link] carries them over a connection, such as TCP.
//
// # By address
//
// Which device, port and GID lead to an IP address, the kernel's connection manager
// knows, and a link can go over a connection of its own, so that no other network
// is needed (package heddle/verbs/cm):
//
//	m := cm.NewManager(&ibv.Provider{})
//	device, path, err := m.Resolve(ctx, "node7:7471")
//	t, err := channel.NewTransportOn(device, path)
//	l, err := channel.Dial(ctx, cm.Network, "node7:7471", channel.LinkConfig{Dial: m.DialContext})
//
// The other side resolves its own address, and its [Listen] takes what m.Listen gives.
//
// # Who may call what
//
// Reserve, Commit, CommitMore, Abort, Send and Flush of a sender are for one
// goroutine at a time, and so are Receive and TryReceive of a receiver.
// Message.Release, Invite, Attach and Close may be called by any goroutine at any
// time. Close ends what waits with [ErrClosed].
//
// # Whose memory
//
// The bytes of a lease are the caller's until Commit or Abort, those of a message
// until Release. A context that is done frees the caller who waits, and never
// memory that a device may still use. Memory of an end that was closed is kept
// as long as leases or messages of it are out.
//
// # Back pressure
//
// Nothing is dropped. A sender without room waits in Reserve, or gets
// [ErrWouldBlock] of TryReserve.
package channel

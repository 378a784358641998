// Package replica keeps the state of a subnet manager with other managers too,
// so that one of them can go on where it ended. What is promised to clients,
// and what the secret protects, is told in docs/replication.md.
//
// # Use
//
//	n, err := replica.New(s, replica.Config{ID: 1, Secret: secret, Peers: []string{"sm2:6111"}})
//	go n.Run(ctx, listener)
//	...
//	epoch, err := n.Lead(ctx)              // when this manager becomes MASTER
//	t, err := s.Groups(config)             // the state of the last one
//	err = t.Resume(time.Now(), epoch)
//	err = n.Commit(ctx, batch, func(r store.Result) { ... })
//	...
//	n.Follow()                             // when it hands over
//
// Who is master is not decided here, but by SMInfo (sm). A node that leads has
// an epoch which is higher than all that it saw, and which no other node can
// have. A node follows the leader with the highest epoch that it saw; what
// comes of a lower one is refused, and a leader that hears of a higher one is
// deposed.
//
// # Log
//
// A leader sends its batches in their order. A follower says at which
// store.Position it is; if the leader's log has just that, it sends what comes
// after it, otherwise the whole state. The log has the latest batches, up to
// Config.Log bytes.
//
// # Rules
//
// A Node may be used by several goroutines. Each pair of nodes has two
// connections; the one that dialled may follow on its own. Nothing that a peer
// does lets memory grow: what is sent is taken from the log when the connection
// has room for it, and what is received is one frame and one batch.
//
// The core (core.go, follow.go, lead.go, log.go) has no clock, connection or
// goroutine; node.go and what it starts own these.
package replica

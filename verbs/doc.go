// Package verbs is what programs use RDMA devices by: the objects and work
// requests of the InfiniBand specification's software transport interface, under
// the names that libibverbs made known. The devices themselves are in packages
// of their own, and each is a [Provider]: verbs/sim simulates a network in the
// process, verbs/shm joins processes of one host, verbs/ibv is libibverbs.
//
// # Objects
//
//	Provider   lists devices
//	Device     one of them; Open gives a Context
//	Context    an opened device: what it can do, its ports, its events
//	PD         a protection domain, which all below belongs to
//	Memory     pages outside the Go heap; NewMemory, NewRing
//	MR         memory that a device may use, under a local and a remote key
//	MW         a window to a part of an MR, under a remote key of its own
//	CQ         a completion queue: Poll, or Arm and Wait
//	QP, SRQ    queue pairs, and receive queues that several of them share
//	AH         an address that datagrams go to
//
// # From nothing to a message
//
//	pd, err := dev.AllocPD()
//	mem, err := verbs.NewMemory(4096)
//	mr, err := pd.RegisterMR(mem, verbs.LocalWrite|verbs.RemoteWrite)
//	cq, err := dev.CreateCQ(verbs.CQAttr{Depth: 16})
//	qp, err := pd.CreateQP(verbs.QPAttr{Type: verbs.RC, SendCQ: cq, RecvCQ: cq})
//	hello := qp.Endpoint()               // carried to the peer by whatever way
//	err = qp.Connect(ctx, theirs)
//	wr := verbs.SendWR{Op: verbs.OpWrite, Flags: verbs.Signaled,
//		SGEs: []verbs.SGE{mr.SGE(0, 64)}, RemoteAddr: addr, RKey: rkey}
//	err = qp.PostSend(&wr)               // wr may be used again at once
//	n, err := verbs.Await(ctx, cq, wcs)  // wcs[0] is the completion
//
// # Who may call what
//
// All methods may be called by any goroutine, except that each of these is for
// one goroutine at a time: the post calls of one QP's send queue, those of its
// receive queue, those of an SRQ, and Poll of one CQ. Wait, Arm and Close may be
// called beside them. Close of any object is idempotent, ends what waits on it
// with [ErrClosed], and gives [ErrBusy] as long as objects that were made of it
// are open.
//
// # Whose memory
//
// A work request and its lists belong to the caller again when the post call
// returns. The memory that its SGEs name belongs to the device until the request
// completed, or the QP was closed. Inline data is copied by the call.
//
// Memory is of this process, by default; or of the device ([DeviceMemoryAllocator]),
// which is copied by ReadAt and WriteAt; or of another driver ([UseDMABuf]). Each
// device refuses with [ErrNotSupported] to register what it cannot use.
//
// # What may be relied on
//
// [Caps] tells in which order a device places bytes and messages, and how that
// is known. Nothing else about order may be assumed: not even that a WRITE's last
// byte comes last.
//
// # Errors
//
// A call fails with an [*OpError], which wraps one of the sentinels where callers
// decide on it. A request that fails later completes with a [Status] other than
// StatusOK; [WC.Err] makes an error of it.
package verbs

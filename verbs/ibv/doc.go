// Package ibv is libibverbs as a [verbs.Provider]: the RDMA devices that the
// kernel has, InfiniBand, RoCE, and those made of software. The library is
// loaded at run time (libibverbs.so.1 of rdma-core 44 or newer, on Linux of
// amd64 or arm64); a program is built without cgo and without headers. What
// imports this package is linked with libc, what does not is not.
//
// # What is known of a device
//
// [verbs.Caps] holds what the device or its driver was asked: the services, by
// making a QP of each; inline data, by making QPs until one is refused;
// WriteOrder, by ibv_query_qp_data_in_order, which speaks of the receiving side
// of one message only. That function's 0 says "not known to be", so WriteOrder
// is Unknown then, and a caller may assume it. FetchOrder and PlacementOrder
// nobody can be asked for: they are Unknown.
//
// CompletionOrder and DeliveryOrder are a matter of the transport, of which the
// driver tells: InfiniBand's reliable connection, which RoCE is too, has both
// (IBTA volume 1, 9.5: a responder executes the requests of a connection in
// order, and a receive completes when what came before is in memory), and so has
// iWARP (RFC 5040). Their origin is ByConstruction: nobody was asked about this
// very device, a device without them is none of its kind. Neither is said of UC
// and UD, whose messages get lost.
//
// Windows of type 1 and 2, atomics, SRQs and multicast are there where the
// device's attributes say so, device memory where ibv_query_device_ex tells of
// some, BlockLoopback where a QP could be made with it.
//
// # Memory
//
// Besides memory of the process, the MRs are of device memory (ibv_alloc_dm), and
// of dmabufs where the driver takes them (ibv_reg_dmabuf_mr); rxe refuses both with
// verbs.ErrNotSupported. Drivers call an MR with windows invalid, not busy, when it
// is closed: of one that was registered with WindowBind, verbs.ErrBusy is said. The
// end of a QP, or its Reset, destroys the windows of type 2 that were bound through
// it, as drivers wait for them; bound once more, they are made anew.
//
// Functions that came later than libibverbs' first interface are found by their
// distance before the context, and only as far as the library says that there are
// any. What is not there is not supported.
//
// # Connections
//
// The endpoint of a QP holds its number, LID, GID and MTU; the smaller MTU of
// both sides is the path's. iWARP connects through a connection manager only,
// and other than package heddle/verbs/cm does: a QP of it can be made and not
// connected. QPs of InfiniBand and RoCE that package has connected by the kernel's
// connection manager ([verbs.CMConnector]).
//
// Where the driver enters the kernel, requests are sent again 6 times at most:
// rxe takes 7, the default, for no end.
//
// The GID that packets leave by is, where QPAttr does not name one, the first
// of the table for InfiniBand. For Ethernet it is the one that goes furthest:
// RoCE v2 before v1, an IPv4 address before a global IPv6 address, and a
// link-local one last.
//
// A QP that joins a group by Attach on Ethernet joins the IP group as well, as
// long as it is attached: network and kernel drop the packets else.
//
// # How calls are made
//
// Post, poll and arm go through the function pointers of libibverbs' context.
// Where the driver does these in user space, as those of adapters do, they run
// on the system stack without a word to the scheduler, which takes a few
// nanoseconds; the driver's file, which holds the functions, tells. Where they
// may enter the kernel, as those of rxe and siw do, they are called as cgo
// calls. The build tag ibv_cgocall makes all calls so.
//
// A program that changes its user (setreuid) must open devices after that: what
// drivers that enter the kernel write to the device is else refused (EACCES).
package ibv

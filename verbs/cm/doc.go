// Package cm makes connections by address: the kernel's connection manager
// (rdma_cm) finds the device, the port, the GID and the path that lead to an IP
// address, on InfiniBand by the addresses of IPoIB, on Ethernet by those of RoCE.
// It is for Linux.
//
// A [Manager] resolves addresses, dials and listens. A [Conn] is a stream of
// bytes, a net.Conn, over a reliable connection that the connection manager has
// set up: enough to agree on more, such as the channels of package channel, whose
// links it can carry. It ends when the peer's process does, as the kernel then
// says so, and some seconds after the peer's host has.
//
// # What is needed
//
// The kernel's module rdma_ucm, and its device file /dev/infiniband/rdma_cm. The
// commands of that file are the kernel's stable interface (version 4); librdmacm
// is a wrapper of them, and is not needed. The queue pairs are those of a
// [verbs.Provider] that has devices of the kernel, which is package ibv's.
//
// # On the wire
//
// The port space is that of TCP (RDMA_PS_TCP). The private data of REQ and REP
// begin with "heddle" and a version of two bytes, 1; who says anything else is
// rejected. Each side then has 8 receives of 4096 bytes, and SENDs of at most that
// length are the stream's bytes. A peer without a receive answers RNR NAK, which
// is retried for ever: that is the back-pressure. A side that has heard nothing
// for 3 s sends a WRITE of no bytes, so that it learns of a dead host.
//
// iWARP has neither RNR NAK nor the rest: its devices are refused.
package cm

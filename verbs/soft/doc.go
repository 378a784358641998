// Package soft is an RDMA device made of software: the transport of InfiniBand
// (RC, UC and UD) over whatever carries its packets.
//
//	Link      what a device sends its packets by; the device knows nothing else of it
//	Provider  devices on the addresses of the host, which speak RoCEv2 over UDP
//	OnPort    a device on a port of an InfiniBand subnet, real or emulated
//	Network   devices in virtual time, whose packets get lost, come twice and late
//
// # What it does
//
// SEND, WRITE, READ and atomics, immediates, inline data, SRQs, multicast, all as
// package verbs has them; no memory windows, and no device memory. Any RoCEv2
// device is a peer on the wire. A QP's Endpoint is a verbs.EndpointAttr, as that of
// package ibv is: the two connect with each other.
//
// A WRITE's bytes come in any order, its last word at the end; READs are fetched
// in ascending order, and atomics are atomic with the CPU's. Timeouts and RNR
// timers are those of QPAttr. Acknowledgements carry no credits: a sender without
// receives at its peer learns of it by an RNR NAK.
//
// # RoCEv2
//
// Fragments are forbidden, and packets with a wrong ICRC are dropped. A socket
// does not tell the identification of an IPv4 packet, which the ICRC covers: it is
// found out, at the price of 16 of the CRC's 32 bits. IPv6 has nothing of the kind.
// Address translation between peers breaks the ICRC. Groups are IPv4 ones as
// ::ffff:a.b.c.d or ff0e::ffff:a.b.c.d, or IPv6 ones; the kernel joins them by
// IGMP or MLD.
//
// # Interoperation
//
// TestInterop has the Linux kernel's rxe as the peer, in a virtual machine: each
// operation as requester and as responder, datagrams, multicast, refusals, missing
// receives, by IPv4 and IPv6, and the programs ibv_rc_pingpong, ibv_uc_pingpong and
// ibv_ud_pingpong (package ibverbs-utils) as server and as client. Each packet on the
// wire is captured, its ICRC compared with package packet's, and a choice of them
// dissected by tshark. Where rxe of Linux 6.1 deviates: a SEND that is longer than its
// receive is a remote operation error at the sender (IBTA 9.9.3: an invalid request);
// what the rights of a QP forbid, not those of its memory, is an invalid request, which
// here is an access error; 7 retries have no end. The command heddle verbs pingpong
// --ibverbs plays with those programs.
//
// # Goroutines and time
//
// A device has a goroutine for each socket, and a timer for all its QPs. One lock
// guards it; packets are sent under it by the call that made them. A CQ that is
// polled in vain again and again looks for packets itself, and so does Await; as
// long as that goes on, the goroutine rests, up to 1 ms longer. On RoCEv2 an
// acknowledgement waits for the next request of the same device, for a poll in
// vain, or 1 ms; a request that is posted while 16 packets and more of its QP are
// under way waits for more of them as long.
//
// # Debugging
//
// Device.Stats counts packets and retransmissions. tshark dissects what is on the
// wire (port 4791).
package soft

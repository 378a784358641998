// Package heddle is the root of an InfiniBand and RDMA stack. It holds no
// code, only this overview; the program is cmd/heddle.
//
// A heddle is the part of a loom that guides each thread of the warp to its
// place. heddle guides messages through an RDMA fabric: it reads or generates
// a fabric, lays the multicast trees of thousands of groups over its links,
// and shows how evenly each routing engine loads them. And it sends messages over
// RDMA devices, by the protocol that fits a program and its network.
//
// # The rooms
//
//   - ib is the vocabulary: LID, GUID, GID, MTU and the other value types.
//   - fabric is the graph of nodes, ports and links; fabric/format reads and
//     writes it, fabric/topology generates it, and fabric/pattern places the
//     processes of a program and their groups on it.
//   - route is what routing is: hop tables, trees, forwarding tables, load,
//     measures and checks. The engines are route/unicast and
//     route/multicast; route/format reads and writes their tables in the text
//     forms of the infiniband-diags.
//   - mad is the wire format of management: subnet management packets, the
//     records of subnet administration, counters, RMPP.
//   - umad is a port that sends and receives them: of the Linux kernel, of
//     ibsim, or of emu. sa asks subnet administration through one.
//   - emu is an emulated subnet with faults on demand; it serves ibsim's socket
//     protocol, whose messages are package ibsim.
//   - sm is the subnet manager, the shell around pure cores: sm/subnet looks at
//     the subnet, sm/plan and sm/multicast say what to send, sm/group has the
//     multicast groups, sm/admin answers what ports ask, sm/election finds the
//     master, sm/store and sm/replica keep the state; sm/partition and
//     sm/opensm read OpenSM's files.
//   - verbs is RDMA devices: the objects and work requests; verbs/sim simulates
//     networks of them, verbs/shm joins processes of a host, verbs/ibv is
//     libibverbs, verbs/cm connects by address, and verbs/verbstest holds each of them to the rules.
//   - channel is messages over them: many protocols of which a program takes
//     one, links between processes, net.Conn; channel/measure reads off
//     simulated networks what each costs.
//   - cli is the command line.
//
// # The way of one group
//
//	format.Read -> *fabric.Fabric -> route.NewHops -> engine.Route(group) -> route.Tree -> route.MFT
//
// Which package may import which is a table in arch_test.go, and a test.
package heddle

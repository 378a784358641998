// Package sim is a network of RDMA devices in the process: seeded, reproducible,
// and as weak as a [Profile] says. A program that works on it relies on nothing
// that its profile does not promise, because the devices really use what freedom
// they have.
//
//	net, err := sim.New(sim.Config{Profile: sim.AdaptiveRouting(), Seed: 1})
//	dev, err := net.Add("a")    // a verbs.Device; net is a verbs.Provider
//
// # Time
//
// All that happens is an event: a packet arrives, a piece of it is placed, an
// acknowledgement comes, a timer runs out. In [Virtual] time the next one happens
// when somebody waits: an empty Poll, a Wait, an Event and an Await run one event
// each time round, so that a program of one goroutine sees every moment there is,
// and does the same with the same seed. [Network.Step] does so by hand. With the
// clock [Crossings] time counts how many packets had to cross the network one
// after the other: the half round trips of a protocol are read off [Network.Now],
// the requests off [Stats]. In [Real] time a goroutine runs what is due; in a
// testing/synctest bubble that is a simulation for any number of goroutines.
//
// # Order
//
// A packet's payload is cut into up to eight pieces at random places, or at the
// boundaries of the aligned chunks that Caps promises to be whole. They are
// placed in ascending order, or shuffled, at moments of their own. A profile with
// PlacementOrder executes packets one after the other; one with CompletionOrder
// places WRITEs as they come and does all else in order; without either each
// message is on its own. READs are fetched in the same way, and never hold up
// the WRITEs behind them: who does not fence is overtaken. Atomics load and
// store at two moments, unless the CPU's are atomic with them. What completes,
// completes as soon as it may; a WRITE, when its data is in memory.
//
// Memory is written by atomic stores of aligned words, and single bytes by
// compare-and-swap of the word that they are in, as others look at it by atomic
// loads meanwhile. A word of a WRITE may come in two pieces all the same, its
// lower addresses first where bytes are in order.
//
// # Transport
//
// Messages are cut into packets of the path MTU. RC numbers them, acknowledges
// the last of a message and every sixteenth, sends again after a timeout or the
// report of a gap, and executes nothing twice: the results of atomics are kept
// and repeated. UC and UD lose what is lost. At most 256 packets of a QP are
// under way. A request without a completion keeps its place in the send queue
// until a later one completes, as on hardware.
//
// It differs from hardware in that a READ is asked for packet by packet (counted
// as one), in that packets carry all that is needed to place them, in that the
// acknowledgement of a WRITE follows its data to memory, and in that EFA's
// messages have one packet.
//
// # Memory
//
// The profiles of InfiniBand and iWARP have memory windows of both types, those of
// InfiniBand device memory as well. A window is looked up anew for each piece of a
// packet that is placed or fetched, as an MR is: when it was taken back, nothing of
// what is under way comes any more. Device memory is pages of the host that the
// program gets at by copies only.
//
// # Cost
//
// A message of 8 bytes takes 0.3 to 0.9 µs of one core from post to completion,
// and allocates nothing. One lock guards a network.
package sim

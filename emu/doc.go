// Package emu is an emulated InfiniBand subnet: switches, adapters and links
// that answer and forward management datagrams as real ones do, with faults on
// demand.
//
// Subnet is the core: built from a fabric.Fabric, it takes a Packet at a port
// and carries it, hop by hop, by directed route or through the forwarding
// tables that a subnet manager wrote, to the agent of a node or to a Client
// that is attached to a port. It has no clock, no goroutine and no socket; it
// is told what time it is.
//
// Live runs a Subnet in real time (in a testing/synctest bubble: in virtual
// time). Its Open gives a umad.Device on any port, and its Serve speaks
// ibsim's socket protocol, so that OpenSM and the infiniband-diags attach
// through ibsim's preload library, unmodified.
//
//	live, err := emu.Start(f, emu.Config{})
//	...
//	defer live.Close()
//	dev, err := live.Open("H-0000000000100000", 1)
//
// Data packets go where the forwarding tables and the states of ports lead them:
// a Host at an end port sends and gets them, a Port those of a Live subnet. They
// are carried at once, or, with Config.Wire, in virtual time over links with a rate
// and a delay, buffers with credits, and VLs that are arbitrated. Deadlock finds
// buffers that wait for each other. Each packet that is lost is counted in Data and
// by the port that lost it. SetLID, SetRoute, SetMulticast and Activate stand in for
// a subnet manager.
//
// Faults are told to the Subnet, through Live.Do or as text to its console:
// datagrams lost, late and twice, links cut and flapping, nodes that die, slow
// agents, full queues, a port that babbles traps. All chance comes from
// Config.Seed.
package emu

// Package soft is an RDMA device made of software: the transport of InfiniBand
// (RC, UC and UD) over whatever carries its packets.
//
//	Link    what a device sends its packets by; the device knows nothing else of it
//	Port    a port of an InfiniBand subnet, real or emulated, of which a Link is made
package soft

// Package packet has the data packets of InfiniBand, and of RoCEv2, which puts
// the same transport into UDP: their headers, and the two CRCs.
//
//	LRH [GRH] Headers payload padding ICRC VCRC              InfiniBand
//	Ethernet IPv4|IPv6 UDP Headers payload padding ICRC      RoCEv2
//
// [Headers] is the BTH and all that its opcode says follows it.
//
// # Rules
//
// Parse methods read into what the caller owns, give what is behind the header,
// and keep no part of their input; AppendTo methods append. Neither allocates,
// and neither looks at anything but lengths and what decides on the layout: a
// field may have any value that fits. A Parse that fails gives an error that
// wraps [ErrShort], [ErrVersion] or [ErrOpcode]; the struct is then of no use.
// AppendTo cuts a value that is too large for its field.
//
// All functions are pure and may be called by any goroutine.
//
// # Sources
//
// InfiniBand Architecture Specification, volume 1: chapter 7 (LRH, CRCs), 8
// (GRH), 9.2 to 9.5 (transport headers), annex A17 (RoCEv2); RFC 791, 8200, 768.
package packet

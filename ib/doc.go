// Package ib is the vocabulary of InfiniBand: addresses, keys and encoded
// properties as small comparable values. They can be map keys, are compared
// with ==, are copied freely and hold no pointers.
//
// # Types
//
//	GUID          64-bit name of a node or a port, for good
//	LID, MLID     16-bit addresses in a subnet: of one port, of a group
//	GID, MGID     128-bit addresses: of a port, of a multicast group
//	Scope         how far an MGID reaches
//	PKey, QKey    partition key and queue key
//	QPN           24-bit number of a queue pair
//	SL, VL        service level and virtual lane
//	MTU, Rate     the encodings of path and group records
//	Width, Speed  of one link; LinkRate is both, as in "4xHDR"
//
// # Rules
//
// The zero value is invalid, or means "unknown", wherever InfiniBand leaves
// room for that: GUID, LID, MLID, GID, MGID, PKey, MTU, Rate, Width, Speed and
// LinkRate. It is an ordinary value of QKey, SL, VL and QPN (QP 0 manages the
// subnet).
//
// A value that the standard does not define can be held and printed, never
// silently replaced: String shows an unknown code as in "MTU(7)", and IsValid
// tells. For a valid value v, ParseX(v.String()) gives v.
//
// ParseX takes text without surrounding space, gives the zero value and a
// *ParseError or a value and nil, and is safe on input from anywhere. The
// error wraps ErrSyntax or ErrRange and names the accepted range.
//
// MarshalText writes the form of String. A value whose text would not parse
// becomes an error, except that the zero value then becomes the empty text,
// and UnmarshalText reads it back.
//
// All functions are pure, and all values may be used by many goroutines.
//
// # Sources
//
// Layouts and codes are those of the InfiniBand Architecture Specification,
// volume 1: chapter 4 (addressing), 10.9 (partitioning), 14.2.5.6 (PortInfo)
// and 15.2.5 (SA records). Those of IP over InfiniBand are of RFC 4391.
package ib

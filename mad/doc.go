// Package mad is the wire format of InfiniBand management: the datagrams with
// which a subnet is discovered, programmed and asked.
//
// A Datagram is the 256 bytes that travel; its methods read and write the
// header in place. Each attribute is a struct with one file of its own, such as
// NodeInfo or PortInfo, which stands in the data of a datagram: ParseX reads
// it, AppendTo writes it. RMPP carries what is longer than one datagram.
//
//	var d mad.Datagram
//	d.SetHeader(mad.Header{Class: mad.ClassLID, ClassVersion: 1, Method: mad.MethodGet,
//		TID: 1, Attr: mad.AttrPortInfo, Modifier: 1})
//	...
//	info, err := mad.ParsePortInfo(answer.Data())
//
// Everything here is a value or a pure function: no sockets, no clocks. The
// layouts are those of the InfiniBand Architecture Specification, volume 1
// (IBTA 1 in the comments), chapters 13 (management model), 14 (subnet
// management), 15 (subnet administration) and 16 (general services).
package mad

package packet

import "strconv"

// Opcode is the opcode of a BTH: the service in its upper 3 bits, the operation
// in the others (IBTA 9.2.1).
type Opcode uint8

// The services.
const (
	RC Opcode = 0x00
	UC Opcode = 0x20
	RD Opcode = 0x40
	UD Opcode = 0x60
)

// The operations, to be or-ed with a service.
const (
	SendFirst Opcode = iota
	SendMiddle
	SendLast
	SendLastImm
	SendOnly
	SendOnlyImm
	WriteFirst
	WriteMiddle
	WriteLast
	WriteLastImm
	WriteOnly
	WriteOnlyImm
	ReadRequest
	ReadResponseFirst
	ReadResponseMiddle
	ReadResponseLast
	ReadResponseOnly
	Acknowledge
	AtomicAcknowledge
	CompareSwap
	FetchAdd
	_
	SendLastInvalidate
	SendOnlyInvalidate
)

// CNP is the congestion notification of RoCEv2, whose 16 reserved bytes are its
// payload here.
const CNP Opcode = 0x81

// Service is the opcode without its operation, Operation without its service.
func (o Opcode) Service() Opcode { return o & 0xe0 }

// Operation is the opcode without its service.
func (o Opcode) Operation() Opcode { return o & 0x1f }

// extension is a set of headers.
type extension uint8

const (
	hasRETH extension = 1 << iota
	hasAtomicETH
	hasAETH
	hasAtomicAck
	hasImm
	hasIETH
	known
)

// extensions are the headers behind the BTH by operation, without those of the
// service.
var extensions = [32]extension{
	SendFirst: known, SendMiddle: known, SendLast: known, SendLastImm: known | hasImm,
	SendOnly: known, SendOnlyImm: known | hasImm,
	WriteFirst: known | hasRETH, WriteMiddle: known, WriteLast: known, WriteLastImm: known | hasImm,
	WriteOnly: known | hasRETH, WriteOnlyImm: known | hasRETH | hasImm, ReadRequest: known | hasRETH,
	ReadResponseFirst: known | hasAETH, ReadResponseMiddle: known, ReadResponseLast: known | hasAETH,
	ReadResponseOnly: known | hasAETH, Acknowledge: known | hasAETH, AtomicAcknowledge: known | hasAETH | hasAtomicAck,
	CompareSwap: known | hasAtomicETH, FetchAdd: known | hasAtomicETH,
	SendLastInvalidate: known | hasIETH, SendOnlyInvalidate: known | hasIETH,
}

// extended are the headers behind the BTH of an opcode; none of one that is not
// known.
func (o Opcode) extended() extension {
	e, op := extensions[o.Operation()], o.Operation()
	switch o.Service() {
	case RC:
		return e
	case UC:
		if op <= WriteOnlyImm {
			return e
		}
	case RD:
		if op <= FetchAdd {
			return e
		}
	case UD:
		if op == SendOnly || op == SendOnlyImm {
			return e
		}
	default:
		if o == CNP {
			return known
		}
	}
	return 0
}

// IsKnown tells whether the layout of packets with the opcode is known.
func (o Opcode) IsKnown() bool { return o.extended() != 0 }

// HasPayload tells whether such packets may have any.
func (o Opcode) HasPayload() bool {
	op := o.Operation()
	return op <= WriteOnlyImm || op >= ReadResponseFirst && op <= ReadResponseOnly || op >= SendLastInvalidate || o == CNP
}

// names are those of the specification.
var names = [32]string{
	SendFirst: "SEND First", SendMiddle: "SEND Middle", SendLast: "SEND Last", SendLastImm: "SEND Last with Immediate",
	SendOnly: "SEND Only", SendOnlyImm: "SEND Only with Immediate",
	WriteFirst: "RDMA WRITE First", WriteMiddle: "RDMA WRITE Middle", WriteLast: "RDMA WRITE Last",
	WriteLastImm: "RDMA WRITE Last with Immediate", WriteOnly: "RDMA WRITE Only", WriteOnlyImm: "RDMA WRITE Only with Immediate",
	ReadRequest: "RDMA READ Request", ReadResponseFirst: "RDMA READ response First", ReadResponseMiddle: "RDMA READ response Middle",
	ReadResponseLast: "RDMA READ response Last", ReadResponseOnly: "RDMA READ response Only",
	Acknowledge: "Acknowledge", AtomicAcknowledge: "ATOMIC Acknowledge", CompareSwap: "CmpSwap", FetchAdd: "FetchAdd",
	SendLastInvalidate: "SEND Last with Invalidate", SendOnlyInvalidate: "SEND Only with Invalidate",
}

// String gives the service and the name of the operation.
func (o Opcode) String() string {
	switch {
	case o == CNP:
		return "CNP"
	case !o.IsKnown():
		return "Opcode(0x" + strconv.FormatUint(uint64(o), 16) + ")"
	}
	return [...]string{"RC", "UC", "RD", "UD"}[o>>5] + " " + names[o.Operation()]
}

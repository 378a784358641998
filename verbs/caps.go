package verbs

import (
	"fmt"
	"slices"
	"strings"
)

// Origin is how something about a device is known.
type Origin uint8

// The origins: nobody knows, the device or its driver was asked, the provider is
// made so, the caller asserts it.
const (
	Unknown Origin = iota
	Probed
	ByConstruction
	Assumed
)

func (o Origin) String() string {
	return named("Origin", []string{"unknown", "probed", "by construction", "assumed by the caller"}, int(o))
}

// Promise is a property of a device that holds, or cannot be relied on.
type Promise struct {
	Holds  bool
	Origin Origin
}

// ByteOrder is in which order the bytes of one message come to memory, or are
// fetched from it: within aligned chunks of that many bytes, each of which is
// whole at once or in ascending order, and which come in any order. 1 is no
// order at all, AllBytes ascending order over the whole message.
//
// Last is a promise beside that: the longest word of 1, 2, 4 or 8 bytes, Last
// bytes at most, that is naturally aligned and ends at the message's last byte
// comes in one piece, after all other bytes; 0 promises nothing of the kind. It
// is of devices that copy a message in any order, and then store its end.
type ByteOrder struct {
	Chunk  int
	Last   int
	Origin Origin
}

// AllBytes is the Chunk of a whole message.
const AllBytes = 1 << 31

// Ordered tells whether a message's last byte comes last: a bell there may be
// trusted.
func (o ByteOrder) Ordered() bool { return o.Ascending() || o.Last > 0 }

// Ascending tells whether all bytes of a message come in ascending order: the
// first one comes first as well.
func (o ByteOrder) Ascending() bool { return o.Chunk >= AllBytes }

// Ops is a set of operations.
type Ops uint16

// OpsOf makes a set.
func OpsOf(list ...Op) (s Ops) {
	for _, op := range list {
		s |= 1 << op
	}
	return s
}

// Has tells whether an operation is in the set.
func (s Ops) Has(op Op) bool { return s>>op&1 != 0 }

// Caps is what a device's queue pairs can do, and which order may be relied on.
// A device never guesses it by its name.
type Caps struct {
	// Ops are the operations of each service; a service without any is not
	// there. Index by QPType.
	Ops [4]Ops
	// WriteOrder is of a WRITE's bytes in the target's memory, FetchOrder of a
	// READ's, as they are fetched from the target's memory.
	WriteOrder, FetchOrder ByteOrder
	// PlacementOrder: the bytes of a WRITE are in memory before those of the next
	// one of the same QP.
	PlacementOrder Promise
	// CompletionOrder: when a SEND's, or a WRITE_WITH_IMM's, completion is at the
	// receiver, the bytes of all requests before it are in memory.
	CompletionOrder Promise
	// DeliveryOrder: SENDs of one QP come in the order in which they were posted.
	DeliveryOrder Promise
	// AtomicsWithCPU: the device's atomics are atomic with the CPU's.
	AtomicsWithCPU Promise
	// MaxMessage is how many bytes one SEND, WRITE or READ has at most, MTU what
	// one packet carries; 0 is not known.
	MaxMessage, MTU int
	MaxInline       int
	MaxSGE          int
	SRQ             bool
	Multicast       bool
	// BlockLoopback: QPAttr.BlockLoopback is heeded.
	BlockLoopback bool
	// Windows1 and Windows2 are memory windows of each type.
	Windows1, Windows2 bool
	DeviceMemory       bool
	// PeerGone: the death of a peer is seen at once.
	PeerGone bool
}

// Can tells whether a service has an operation.
func (c *Caps) Can(t QPType, op Op) bool { return int(t) < len(c.Ops) && c.Ops[t].Has(op) }

// Assumption is what a caller asserts of a device, on their own responsibility.
type Assumption uint8

// What can be assumed.
const (
	AssumeWriteOrder Assumption = iota
	AssumeFetchOrder
	AssumePlacementOrder
	AssumeCompletionOrder
	AssumeDeliveryOrder
)

// Assume adds what the caller knows and the device does not tell. What the
// device is known not to promise stays so.
func (c Caps) Assume(list ...Assumption) Caps {
	order := func(o *ByteOrder) {
		if o.Origin == Unknown {
			*o = ByteOrder{Chunk: AllBytes, Origin: Assumed}
		}
	}
	promise := func(p *Promise) {
		if p.Origin == Unknown {
			*p = Promise{true, Assumed}
		}
	}
	for _, a := range list {
		switch a {
		case AssumeWriteOrder:
			order(&c.WriteOrder)
		case AssumeFetchOrder:
			order(&c.FetchOrder)
		case AssumePlacementOrder:
			promise(&c.PlacementOrder)
		case AssumeCompletionOrder:
			promise(&c.CompletionOrder)
		case AssumeDeliveryOrder:
			promise(&c.DeliveryOrder)
		}
	}
	return c
}

// List gives the names of the operations.
func (s Ops) List() (names []string) {
	for op := OpSend; op <= OpRecvWriteImm; op++ {
		if s.Has(op) {
			names = append(names, op.String())
		}
	}
	return slices.Clip(names)
}

func (s Ops) String() string { return strings.Join(s.List(), ", ") }

func (p Promise) String() string {
	word := "no"
	if p.Holds {
		word = "yes"
	}
	return fmt.Sprintf("%s (%v)", word, p.Origin)
}

func (o ByteOrder) String() string {
	switch {
	case o.Ascending():
		return fmt.Sprintf("ascending (%v)", o.Origin)
	case o.Last > 0:
		return fmt.Sprintf("the last word of up to %d bytes last (%v)", o.Last, o.Origin)
	case o.Chunk <= 1:
		return fmt.Sprintf("none (%v)", o.Origin)
	default:
		return fmt.Sprintf("whole aligned chunks of %d bytes (%v)", o.Chunk, o.Origin)
	}
}

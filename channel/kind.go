package channel

import (
	"fmt"
	"slices"
	"strings"

	"heddle/verbs"
)

// Family is how a kind organizes its memory, and by which requests it moves.
type Family string

// The families: the paper's six, and that of cells.
const (
	SendRecv   Family = "send/recv"
	WriteSlot  Family = "write slot"
	WriteRing  Family = "ring"
	SharedRing Family = "shared ring"
	ReadSlot   Family = "read slot"
	ReadRing   Family = "read ring"
	CellRing   Family = "cell ring"
)

// Source is where a kind is known from.
type Source uint8

// The sources: the paper's text, its authors' thesis, a reconstruction of ours of
// a row that the paper's text does not show, and our own.
const (
	Paper Source = iota
	Thesis
	Reconstruction
	Own
)

func (s Source) String() string {
	names := [...]string{"paper", "thesis", "reconstruction", "own"}
	if int(s) < len(names) {
		return names[s]
	}
	return fmt.Sprintf("Source(%d)", uint8(s))
}

// ZeroCopy is whether a kind goes without a copy of the message on one side.
type ZeroCopy uint8

// The kinds of it: with a copy, without one, without one where a request may
// gather several pieces, without one as long as the message is used in place.
const (
	Copies ZeroCopy = iota
	NoCopy
	WithGather
	InPlace
)

func (z ZeroCopy) String() string {
	names := [...]string{"no", "yes", "SGL", "in place"}
	if int(z) < len(names) {
		return names[z]
	}
	return fmt.Sprintf("ZeroCopy(%d)", uint8(z))
}

// Memory is how much memory a receiver has for N senders. S is the longest
// message, k the number of slots, B the bytes of a ring.
type Memory string

// The amounts.
const (
	SlotsEach    Memory = "N*k*S"
	SlotsShared  Memory = "k*S"
	RingEach     Memory = "N*B"
	RingShared   Memory = "B"
	ReaderChoice Memory = "reader's choice"
)

// Features are what a kind declares. The package's tests measure each on
// simulated networks, and hold it against what is declared here.
type Features struct {
	// HRT is how many half round trips pass from Commit until Receive returns, as
	// the paper counts: with the message being looked for, and room for it.
	HRT int
	// SendRequests and RecvRequests are the work requests that each side posts for
	// a message; those for room (credits, heads and tails) are not counted, nor
	// those of a reader that finds nothing.
	SendRequests, RecvRequests int
	// Batches tells that RecvRequests are for several messages where they are
	// there together.
	Batches bool
	// Blocking tells that the receiver may sleep until a completion comes.
	Blocking bool
	// CopySend and CopyRecv tell whether messages are copied.
	CopySend, CopyRecv ZeroCopy
	// Copying tells that the channel itself copies each message after it came. A
	// kind that does not may still not be free of a copy in the paper's sense, as
	// the sender has no say in where the message comes to.
	Copying bool
	// Variable tells that memory is used as messages are long, not as the longest.
	Variable bool
	Memory   Memory
	// PassiveSender and PassiveReceiver tell that the side posts and polls nothing
	// for a message.
	PassiveSender, PassiveReceiver bool
	// Immediate tells that a message may carry a number beside its bytes, where the
	// device has what Needs.Imm says.
	Immediate bool
	// AsDelivered tells that messages come in the order in which the device
	// delivers them, which Caps.DeliveryOrder is about. All other kinds give them
	// in the order in which they were sent, or reserved in a ring of many senders.
	AsDelivered bool
	// Senders and Readers tell that one channel has many of them.
	Senders, Readers bool
}

// Order is an order that a kind relies on.
type Order uint8

// The orders, as verbs.Caps has them. BellLast and BellFirst are of the bytes of
// a WRITE and of a READ; Cells is a WRITE whose aligned chunks of 128 bytes or
// less come whole, which each byte does.
const (
	BellLast Order = iota + 1
	BellFirst
	PlacementOrder
	CompletionOrder
)

func (o Order) String() string {
	names := [...]string{
		"", "the last byte of a WRITE is placed last", "the bytes of a READ are fetched in ascending order",
		"WRITEs are placed one after the other", "a completion comes after what was sent before",
	}
	if o > 0 && int(o) < len(names) {
		return names[o]
	}
	return fmt.Sprintf("Order(%d)", uint8(o))
}

// Name is the order's name in a few words.
func (o Order) Name() string {
	names := [...]string{"", "byte order", "fetch order", "placement order", "completion order"}
	if o > 0 && int(o) < len(names) {
		return names[o]
	}
	return o.String()
}

// in tells whether a device keeps an order.
func (o Order) in(caps *verbs.Caps) bool {
	switch o {
	case BellLast:
		return caps.WriteOrder.Ordered()
	case BellFirst:
		return caps.FetchOrder.Ascending()
	case PlacementOrder:
		return caps.PlacementOrder.Holds
	case CompletionOrder:
		return caps.CompletionOrder.Holds
	default:
		return false
	}
}

// Needs are what a kind needs of a device's reliable connections.
type Needs struct {
	Ops verbs.Ops
	// Room are the operations that credits, heads and tails go by, at least: who
	// READs a sender's memory WRITEs what it gives back where the device has that,
	// and only else the sender READs it.
	Room   verbs.Ops
	Orders []Order
	SRQ    bool
	// Imm is the operation that a number beside a message goes by, 0 where it
	// needs none of its own. A device without it has the channel, but not CommitImm.
	Imm verbs.Op
}

// Kind is a protocol of a channel. The kinds are in kinds.go.
type Kind struct {
	Number int    // of the row in the table
	Name   string // as on the command line
	Title  string
	Family Family
	Source Source
	Features
	Needs Needs

	sender   func(*end) (sending, error)
	receiver func(*end) (receiving, error)
}

// Refusal is why a device cannot have a kind. It wraps ErrNotSupported.
type Refusal struct {
	Kind  string
	Op    verbs.Op // that is missing
	Order Order    // that is missing, where no operation is
	SRQ   bool     // what is missing, where neither is
}

func (r *Refusal) Error() string { return fmt.Sprintf("channel %s: %s", r.Kind, r.lack()) }

// lack is what the device does not have.
func (r *Refusal) lack() string {
	switch {
	case r.Op != 0:
		return r.Op.String() + " is not there"
	case r.Order != 0:
		return "it is not so that " + r.Order.String()
	default:
		return "shared receive queues are not there"
	}
}

// Unwrap gives ErrNotSupported.
func (r *Refusal) Unwrap() error { return ErrNotSupported }

// Missing is the first thing that a device lacks for a kind, nil if there is
// nothing. An order that is missing comes after all operations.
func (k *Kind) Missing(caps *verbs.Caps) *Refusal {
	ops := k.Needs.Ops | k.Needs.Room
	for op := verbs.OpSend; op <= verbs.OpCompareSwap; op++ {
		if ops.Has(op) && !caps.Can(verbs.RC, op) {
			return &Refusal{Kind: k.Name, Op: op}
		}
	}
	if k.Needs.SRQ && !caps.SRQ {
		return &Refusal{Kind: k.Name, SRQ: true}
	}
	for _, o := range k.Needs.Orders {
		if !o.in(caps) {
			return &Refusal{Kind: k.Name, Order: o}
		}
	}
	return nil
}

// missingImm is why a device cannot send a number beside a message, nil if it can.
func (k *Kind) missingImm(caps *verbs.Caps) error {
	switch {
	case !k.Immediate:
		return fmt.Errorf("an immediate: %w", ErrNotSupported)
	case k.Needs.Imm != 0 && !caps.Can(verbs.RC, k.Needs.Imm):
		return &Refusal{Kind: k.Name, Op: k.Needs.Imm}
	default:
		return nil
	}
}

// Find gives the kind of a name.
func Find(name string) (*Kind, error) {
	kinds := Kinds()
	i := slices.IndexFunc(kinds, func(k *Kind) bool { return k.Name == name })
	if i < 0 {
		names := make([]string, len(kinds))
		for i, k := range kinds {
			names[i] = k.Name
		}
		return nil, fmt.Errorf("channel %q: there is none; there are %s: %w", name, strings.Join(names, ", "), ErrInvalid)
	}
	return kinds[i], nil
}

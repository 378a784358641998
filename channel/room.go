package channel

import "heddle/verbs"

// Room is how a sender learns that its messages were given back. With it, each
// kind is one of the paper's two-way channels: rings of many readers have "write
// slot inlined bell" behind them, rings of many senders "read slot inlined bell",
// whose messages are one word here, sealed where the paper has a bell.
type Room string

// The ways.
const (
	// RoomSent is by a SEND of the receiver's.
	RoomSent Room = "SEND of credits"
	// RoomRead is by a READ of a word of the receiver's, which is passive: a read
	// slot with its bell in it.
	RoomRead Room = "READ of the head"
	// RoomListed is by a READ of several such words, as slots are given back in any
	// order.
	RoomListed Room = "READ of free slots"
	// RoomWritten is by a WRITE to a word of the sender's, which is passive: a write
	// slot with its bell in it.
	RoomWritten Room = "WRITE of the tail"
	// RoomAsked is by the device, which tries again until there is a buffer.
	RoomAsked Room = "none"
)

// Room is how a kind's senders learn of room on a device. Of a Duplex messages tell
// of it beside that, where it is RoomSent or RoomRead.
func (k *Kind) Room(caps *verbs.Caps) Room {
	switch k.Family {
	case SendRecv:
		if k.Senders {
			return RoomAsked
		}
		return RoomSent
	case WriteSlot:
		return RoomListed
	case ReadSlot, ReadRing:
		if caps.Can(verbs.RC, verbs.OpWrite) {
			return RoomWritten
		}
		return RoomRead
	default:
		return RoomRead
	}
}

package channel

import (
	"cmp"
	"fmt"
	"time"

	"heddle/verbs"
)

// Config is what an end is to be like. Zero means what the comments say. The
// sizes count where the memory is: at the receiver, or of fetch and cast channels
// at the sender; the other end takes what it is told.
type Config struct {
	// Slots is how many messages of slot and send channels are under way at most,
	// 64 by default.
	Slots int
	// Size is the longest message of slot, send and fetch channels, 4096 bytes by
	// default, or what the device's messages have at most if that is less.
	Size int
	// Ring is the size of a ring, 1 MiB by default; it is rounded up to whole
	// pages. The longest message of a ring has a bit less than half of it.
	Ring int
	// Peers is how many peers an end has at most that can have many: 64 by
	// default.
	Peers int
	// PeerMemory is how many bytes of memory an end makes at most because its peer
	// says how large that one's ring or slots are: a sender's stage, or a reader's
	// copy. Beside it there are a draft of half as much, of rings of cells, and tables
	// of the peer's slots, 2 MiB at most. It is 64 MiB by default, or Ring if that is
	// more. A peer that names more is refused, with a *LimitError on this side and an
	// error that wraps ErrLimit on both.
	PeerMemory int
	// Memory is where messages come to, of channels whose receiver's memory is
	// written to in slots; at least Slots times the slot's size. By default the end
	// makes its own.
	Memory *verbs.Memory
	// Evict is after how long a cast channel's sender gives up on a reader that
	// it has to wait for; by default it waits for ever.
	Evict time.Duration
	// Stall is after how long the receiver of a ring that many senders share goes on
	// without one that has a place there and has not written to it, 20 ms by default.
	// Nothing is lost by it, but it takes another ring.
	Stall time.Duration
	// Linger is how long Close of a sender waits until the peer's device has all,
	// 1 s by default.
	Linger time.Duration
	// Force makes a channel although the device does not promise an order that it
	// relies on. It is for experiments: messages will be lost or come wrong.
	Force bool
}

// Limits of what a peer may say.
const (
	maxSlots = 1 << 16
	maxRing  = 1 << 31
	maxPeers = 1 << 14

	defaultPeerMemory = 64 << 20
)

// filled is the configuration with what is by default.
func (c Config) filled(caps *verbs.Caps) (Config, error) {
	c.Slots = cmp.Or(c.Slots, 64)
	c.Size = cmp.Or(c.Size, min(4096, cmp.Or(caps.MaxMessage, 4096)-overhead))
	c.Ring = cmp.Or(c.Ring, 1<<20)
	c.Peers = cmp.Or(c.Peers, 64)
	c.PeerMemory = cmp.Or(c.PeerMemory, max(defaultPeerMemory, c.Ring))
	c.Linger = cmp.Or(c.Linger, time.Second)
	c.Stall = cmp.Or(c.Stall, 20*time.Millisecond)
	for _, x := range []struct {
		what       string
		got, limit int
	}{
		{"slots", c.Slots, maxSlots},
		{"size", c.Size, maxRing / 2},
		{"ring", c.Ring, maxRing},
		{"peers", c.Peers, maxPeers},
		{"memory for a peer", c.PeerMemory, 2 * maxRing},
	} {
		if x.got <= 0 || x.got > x.limit {
			return c, fmt.Errorf("%s of %d, it may be 1 to %d: %w", x.what, x.got, x.limit, ErrInvalid)
		}
	}
	if c.Evict < 0 || c.Linger < 0 || c.Stall < 0 {
		return c, fmt.Errorf("a negative time: %w", ErrInvalid)
	}
	return c, nil
}

// overhead is the most that a message has beside its bytes in any slot.
const overhead = 16

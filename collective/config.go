package collective

import (
	"context"
	"errors"
	"fmt"
	"time"

	"heddle/channel"
	"heddle/ib"
	"heddle/verbs"
)

// Config is what a group is to be like. Zero means what the comments say. All
// ranks have the same, but for Joiner.
type Config struct {
	// Joiner brings this rank into the multicast group; nil for a group without
	// multicast.
	Joiner Joiner
	// Way is how broadcasts are to go where the best way that there is, which is
	// the default, is not wanted.
	Way Way
	// Slots is how many chunks of a root are under way at most, 256 by default.
	// Each rank has memory for that many chunks of each root.
	Slots int
	// Chunk is the length of a chunk with its header of 32 bytes: by default, and
	// at most, what a datagram carries.
	Chunk int
	// Roots are the ranks that may be the root of a Bcast; all by default.
	Roots []int
	// Gap is how long a chunk may be late before it is READ, 100 µs by default.
	// Probe is how long a reader that waits hears nothing before it asks whether
	// there is more, 500 µs by default; it doubles up to 64 times that.
	Gap, Probe time.Duration
	// Evict is after how long a root gives up on a reader that it has to wait
	// for; by default it waits for ever. A reader that was evicted gets ErrLagged
	// when it misses something.
	Evict time.Duration
	// Timeout is how long a READ or WRITE waits for an answer before it is sent
	// again, seven times at most: 67 ms by default, which outlasts a new route. It
	// is how long a rank that died may hold up who asks it.
	Timeout time.Duration
	// BcastOnly makes a group without channels, which has Bcast and AllGather
	// alone. It has a fraction of the queue pairs and of the memory.
	BcastOnly bool
	// Linger is how long Close waits for readers of what this rank sent, 1 s by
	// default.
	Linger time.Duration
}

const (
	defaultSlots   = 256
	maxSlots       = 1 << 16
	defaultGap     = 100 * time.Microsecond
	defaultProbe   = 500 * time.Microsecond
	defaultLinger  = time.Second
	defaultTimeout = 67 * time.Millisecond
	maxSize        = 1 << 15
)

var (
	// ErrLagged is what a reader gets that was too slow, and was evicted.
	ErrLagged = channel.ErrLagged
	// ErrPeerGone is a rank that died, or whose connection broke.
	ErrPeerGone = verbs.ErrPeerGone
	// ErrInvalid is an argument, or a peer's word, that makes no sense.
	ErrInvalid = verbs.ErrInvalid
	// ErrClosed is a group that was closed; it is net.ErrClosed as well.
	ErrClosed = verbs.ErrClosed
	// ErrMismatch is an operation that other ranks call with another length.
	ErrMismatch = errors.New("ranks disagree about the length")
)

// Error is an operation that failed.
type Error struct {
	Op   string // the call
	Rank int    // whose it was
	Peer int    // the rank that it failed at; -1 where that is none
	Err  error
}

func (e *Error) Error() string {
	if e.Peer < 0 {
		return fmt.Sprintf("%s at rank %d: %v", e.Op, e.Rank, e.Err)
	}
	return fmt.Sprintf("%s at rank %d, with rank %d: %v", e.Op, e.Rank, e.Peer, e.Err)
}

// Unwrap gives the sentinel, or the device's error.
func (e *Error) Unwrap() error { return e.Err }

// Joiner brings a rank into a multicast group.
type Joiner interface {
	// Join makes this rank's port a member, and tells how the group is called.
	Join(ctx context.Context) (Multicast, error)
	// Ready returns when datagrams to the group reach all members. Rank 0 alone
	// calls it, and tells the others by the group itself.
	Ready(ctx context.Context) error
	// Leave ends the membership.
	Leave(ctx context.Context) error
}

// Multicast is how a group is called. It is a Joiner of a group that needs no
// joining, or that something else has joined.
type Multicast struct {
	Group ib.MGID
	LID   ib.MLID // 0 where the link layer has none
	QKey  ib.QKey
	SL    ib.SL
	// HopLimit is that of its packets, 1 by default.
	HopLimit uint8
}

// Join implements Joiner.
func (m Multicast) Join(context.Context) (Multicast, error) { return m, nil }

// Ready implements Joiner.
func (m Multicast) Ready(context.Context) error { return nil }

// Leave implements Joiner.
func (m Multicast) Leave(context.Context) error { return nil }

// Way is how broadcasts go.
type Way uint8

// The ways, the best one first.
const (
	ByMulticast Way = iota + 1
	ByRead
	ByTree
)

func (w Way) String() string {
	switch w {
	case ByMulticast:
		return "multicast, repaired by READ"
	case ByRead:
		return "READ"
	case ByTree:
		return "a tree of channels"
	}
	return fmt.Sprintf("way %d", uint8(w))
}

// wayOf is the best way that a device has, or the one that is wanted in its place.
func wayOf(caps *verbs.Caps, joiner Joiner, wanted Way) Way {
	return max(bestWay(caps, joiner), wanted)
}

func bestWay(caps *verbs.Caps, joiner Joiner) Way {
	switch {
	case !caps.Can(verbs.RC, verbs.OpRead) || !caps.Can(verbs.RC, verbs.OpWrite):
		return ByTree
	case joiner == nil || !caps.Multicast || !caps.Can(verbs.UD, verbs.OpSend):
		return ByRead
	default:
		return ByMulticast
	}
}

// filled is the configuration with its defaults, checked.
func (c Config) filled(rank, size int) (Config, error) {
	if size < 1 || size > maxSize || rank < 0 || rank >= size {
		return c, fmt.Errorf("rank %d of %d, at most %d: %w", rank, size, maxSize, ErrInvalid)
	}
	orDefault(&c.Slots, defaultSlots)
	orDefault(&c.Gap, defaultGap)
	orDefault(&c.Probe, defaultProbe)
	orDefault(&c.Linger, defaultLinger)
	orDefault(&c.Timeout, defaultTimeout)
	if c.Way > ByTree {
		return c, fmt.Errorf("broadcasts by %v: %w", c.Way, ErrInvalid)
	}
	if c.Slots < 2 || c.Slots > maxSlots {
		return c, fmt.Errorf("%d slots, not 2 to %d: %w", c.Slots, maxSlots, ErrInvalid)
	}
	if c.Chunk != 0 && c.Chunk <= headerSize {
		return c, fmt.Errorf("chunks of %d bytes have no room beside a header of %d: %w", c.Chunk, headerSize, ErrInvalid)
	}
	if c.Roots == nil {
		for r := range size {
			c.Roots = append(c.Roots, r)
		}
	}
	for _, r := range c.Roots {
		if r < 0 || r >= size {
			return c, fmt.Errorf("root %d of %d ranks: %w", r, size, ErrInvalid)
		}
	}
	return c, nil
}

func orDefault[T int | time.Duration](v *T, or T) {
	if *v == 0 {
		*v = or
	}
}

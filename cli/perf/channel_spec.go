package perf

import (
	"cmp"
	"fmt"
	"time"

	"heddle/channel"
	"heddle/verbs"
)

// The tests of channels, beside Latency and Stream.
const (
	// Gather has many senders at the other end, and one who receives at this one.
	Gather Test = "gather"
	// Scatter sends each message to many at the other end.
	Scatter Test = "scatter"
)

// What may be in place of a channel.
const (
	UnixSocket = "unix"
	TCP        = "tcp"
)

// ChannelSpec is a test of channels, or of a socket in place of one. Messages are
// sent, received and given back one by one. Zero is a default where the comment
// tells one.
type ChannelSpec struct {
	// Via is a kind of channel, by its name, or UnixSocket or TCP.
	Via  string
	Test Test // Latency by default
	// Size is how many bytes a message has.
	Size int
	// Time is for how long messages go, 50 ms by default, after a quarter of it for
	// nothing. Before that, some messages are compared with what was sent.
	Time time.Duration
	// Ends is how many there are at the other end, of Gather and Scatter, 1 by
	// default. A kind that cannot have so many at one end has a channel for each.
	Ends int
	// CopySend has each message be copied from memory of the caller's, by Send;
	// without it, what is in the lease is sent. CopyReceive has it come to memory
	// of the caller's, by ReceiveInto where the kind has that.
	CopySend, CopyReceive bool
	// Together is how many messages of a Stream are committed together, 1 by default:
	// all but the last of them by CommitMore. They are received one by one.
	Together int
	// Assume is what the caller knows of the devices.
	Assume []verbs.Assumption
	// Timeout is how long all of it may take, 30 s by default.
	Timeout time.Duration
}

// MaxEnds is how many there may be at one end.
const MaxEnds = 64

// The limits of a ChannelSpec, which comes from whoever connects.
const (
	maxChannelSize = 1 << 24
	maxChannelTime = time.Minute
)

// Filled has the defaults in it. The error wraps verbs.ErrInvalid.
func (s ChannelSpec) Filled() (ChannelSpec, error) {
	s.Test, s.Time, s.Ends = cmp.Or(s.Test, Latency), cmp.Or(s.Time, 50*time.Millisecond), cmp.Or(s.Ends, 1)
	s.Timeout, s.Together = cmp.Or(s.Timeout, 30*time.Second), cmp.Or(s.Together, 1)
	many := s.Test == Gather || s.Test == Scatter
	for _, x := range []struct {
		what       string
		got, least time.Duration
		most       time.Duration
	}{
		{"size", time.Duration(s.Size), 1, maxChannelSize},
		{"time", s.Time, time.Microsecond, maxChannelTime},
		{"ends", time.Duration(s.Ends), 1, MaxEnds},
		{"messages together", time.Duration(s.Together), 1, sentTogether},
		{"timeout", s.Timeout, time.Second, maxTimeout},
	} {
		if x.got < x.least || x.got > x.most {
			return s, fmt.Errorf("%s %d, want %d to %d: %w", x.what, x.got, x.least, x.most, verbs.ErrInvalid)
		}
	}
	switch {
	case s.Test != Latency && s.Test != Stream && !many:
		return s, fmt.Errorf("no test %q of channels: %w", s.Test, verbs.ErrInvalid)
	case s.Together > 1 && (s.Test != Stream || s.CopySend || s.socket()):
		return s, fmt.Errorf("%d messages of %s together: %w", s.Together, s.Test, verbs.ErrInvalid)
	case s.Ends > 1 && !many:
		return s, fmt.Errorf("%s with %d ends: %w", s.Test, s.Ends, verbs.ErrInvalid)
	case s.socket() && many:
		return s, fmt.Errorf("%s of sockets: %w", s.Test, verbs.ErrInvalid)
	case s.socket():
		return s, nil
	}
	_, err := channel.Find(s.Via)
	return s, err
}

func (s *ChannelSpec) socket() bool { return s.Via == UnixSocket || s.Via == TCP }

// config is that of both ends of a channel, of which one has so many peers.
func (s *ChannelSpec) config(peers int) channel.Config {
	return channel.Config{
		Size: s.Size, Slots: min(max((4<<20)/s.Size, 4), 64), Ring: max(1<<20, 8*s.Size), Peers: peers,
		Linger: 1, // all has come when it ends
	}
}

// ChannelResult is what came out, of both ends together.
type ChannelResult struct {
	ChannelSpec
	Times Times // of Latency: half a round trip
	// Rate is messages a second, 0 of Latency: of Gather those of all senders,
	// of Scatter those that came to all.
	Rate float64
	// Allocs is how often an end allocated for a message, of the end that did so
	// more often.
	Allocs uint64
	// Senders and Receivers are how many bytes those of one direction registered, all together.
	Senders, Receivers int
}

// FitsChannel tells why the device cannot do a test, nil where it can.
func (e *End) FitsChannel(s ChannelSpec) error {
	s, err := s.Filled()
	if err != nil || s.socket() {
		return err
	}
	caps := e.caps.Assume(s.Assume...)
	return s.fits(&caps)
}

func (s *ChannelSpec) fits(caps *verbs.Caps) error {
	k, err := channel.Find(s.Via)
	if err != nil {
		return err
	}
	if r := k.Missing(caps); r != nil {
		return r
	}
	switch {
	case caps.MaxMessage > 0 && s.Size > caps.MaxMessage-overhead:
		return fmt.Errorf("channel %s: %d bytes, and what is beside them; a message has %d at most: %w", k.Name, s.Size, caps.MaxMessage, verbs.ErrNotSupported)
	case s.Test != Latency && k.AsDelivered && !caps.DeliveryOrder.Holds:
		return fmt.Errorf("channel %s: a stream whose messages come in any order: %w", k.Name, verbs.ErrNotSupported)
	}
	return nil
}

// overhead is what a message may have beside its bytes.
const overhead = 64

// Caps are what the device can do.
func (e *End) Caps() verbs.Caps { return e.caps }

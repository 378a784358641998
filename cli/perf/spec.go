package perf

import (
	"cmp"
	"fmt"
	"math/bits"
	"time"

	"heddle/verbs"
)

// Test is what is measured.
type Test string

// The tests.
const (
	// Latency sends a message when the one before was answered.
	Latency Test = "latency"
	// Stream sends as much as there is room for.
	Stream Test = "stream"
	// Wake lets the receiver fall asleep before each message, which says when it
	// was sent by the clock of the host, that both ends must have in common.
	Wake Test = "wake"
	// Socket is Wake over a Unix socket.
	Socket Test = "socket"
)

// Spec is a test to run. Zero is a default where the comment tells one.
type Spec struct {
	Test    Test // Latency by default
	Op      verbs.Op
	Service verbs.QPType // RC by default
	// Size is how many bytes a message has: 8 for the atomics, 16 in tests that
	// wake.
	Size int
	// Iters are messages, or round trips, that are measured, 1000 by default;
	// Warmup those before that, a tenth of it by default.
	Iters, Warmup int
	// Batch is how many round trips are timed together, 1 by default: a short one
	// takes no longer than reading the clock.
	Batch int
	// Chain is how many requests are posted by one call, in a stream, 1 by
	// default.
	Chain int
	// Depth is how many messages of a stream are under way, and how many buffers
	// are posted, at most: a power of two. By default it goes by Size.
	Depth int
	// Events has completions and bytes be waited for asleep, not by polling.
	Events bool
	// Check compares what comes with what was sent.
	Check bool
	// Assume is what the caller knows of the devices.
	Assume []verbs.Assumption
	// Timeout is how long all of it may take, 30 s by default.
	Timeout time.Duration
}

// The limits of a Spec, which comes from whoever connects.
const (
	maxSize    = 1 << 30
	maxIters   = 1 << 30
	maxDepth   = 8192
	maxTimeout = time.Hour
	wakeSize   = 16
	wordSize   = 8
)

// Filled has the defaults in it. The error wraps verbs.ErrInvalid.
func (s Spec) Filled() (Spec, error) {
	s.Test, s.Service = cmp.Or(s.Test, Latency), cmp.Or(s.Service, verbs.RC)
	s.Iters, s.Batch, s.Chain = cmp.Or(s.Iters, 1000), cmp.Or(s.Batch, 1), cmp.Or(s.Chain, 1)
	s.Warmup = cmp.Or(s.Warmup, max(1, s.Iters/10))
	s.Timeout = cmp.Or(s.Timeout, 30*time.Second)
	switch {
	case s.Test == Wake || s.Test == Socket:
		s.Size = wakeSize
	case s.Op.Atomic():
		s.Size = wordSize
	}
	if err := s.check(); err != nil {
		return s, err
	}
	s.Depth = min(cmp.Or(s.Depth, s.usualDepth()), s.mostDepth())
	s.Depth = 1 << (bits.Len(uint(s.Depth)) - 1)
	s.Chain = min(s.Chain, s.Depth)
	s.Iters = roundUp(s.Iters, s.Batch)
	return s, nil
}

func (s *Spec) check() error {
	for _, x := range []struct {
		what             string
		got, least, most int
	}{
		{"size", s.Size, s.leastSize(), maxSize},
		{"iterations", s.Iters, 1, maxIters},
		{"iterations to warm up", s.Warmup, 1, maxIters},
		{"batch", s.Batch, 1, 1 << 20},
		{"chain", s.Chain, 1, 64},
		{"depth", s.Depth, 0, maxDepth},
		{"timeout", int(s.Timeout / time.Second), 1, int(maxTimeout / time.Second)},
	} {
		if x.got < x.least || x.got > x.most {
			return fmt.Errorf("%s %d, want %d to %d: %w", x.what, x.got, x.least, x.most, verbs.ErrInvalid)
		}
	}
	switch {
	case s.Test != Latency && s.Test != Stream && s.Test != Wake && s.Test != Socket:
		return fmt.Errorf("no test %q: %w", s.Test, verbs.ErrInvalid)
	case s.Test == Socket:
		return nil
	case !s.Op.Receives() && !s.polled() && !s.Op.Reads():
		return fmt.Errorf("%v is nothing to measure: %w", s.Op, verbs.ErrInvalid)
	case s.Test == Wake && s.Op.Reads():
		return fmt.Errorf("%v wakes nobody: %w", s.Op, verbs.ErrInvalid)
	case s.Test == Stream && s.Service != verbs.RC:
		return fmt.Errorf("a stream over %v, which loses messages: %w", s.Service, verbs.ErrInvalid)
	}
	return nil
}

// polled tells whether the receiver waits for bytes in its memory.
func (s *Spec) polled() bool { return s.Op == verbs.OpWrite }

func (s *Spec) leastSize() int {
	if s.polled() {
		return 1 // that tells of it
	}
	return 0
}

// usualDepth keeps what is under way within a cache.
func (s *Spec) usualDepth() int {
	if s.Test != Stream {
		return 16
	}
	return min(max((512<<10)/max(s.Size, 1), 4), 1024)
}

// mostDepth keeps all slots within 256 MiB, and the numbers of messages apart
// where they have one byte.
func (s *Spec) mostDepth() int {
	most := min(max((128<<20)/max(s.Size, 1), 1), maxDepth)
	if s.polled() && s.Size < 2 {
		most = min(most, 128)
	}
	return most
}

// fits tells why a device cannot do it.
func (s *Spec) fits(caps *verbs.Caps) error {
	switch {
	case s.Test == Socket:
		return nil
	case !caps.Can(s.Service, s.Op):
		return fmt.Errorf("%v over %v: %w", s.Op, s.Service, verbs.ErrNotSupported)
	case caps.MaxMessage > 0 && s.Size > caps.MaxMessage:
		return fmt.Errorf("%d bytes, a message has %d at most: %w", s.Size, caps.MaxMessage, verbs.ErrNotSupported)
	case s.Service == verbs.UD && caps.MTU > 0 && s.Size > caps.MTU:
		return fmt.Errorf("%d bytes, a datagram has %d at most: %w", s.Size, caps.MTU, verbs.ErrNotSupported)
	case s.polled() && !caps.WriteOrder.Ordered():
		return fmt.Errorf("a receiver that polls the last bytes of a WRITE, whose order is: %v: %w", caps.WriteOrder, verbs.ErrNotSupported)
	case s.polled() && s.Test == Stream && !caps.Can(verbs.RC, verbs.OpWrite):
		return fmt.Errorf("WRITE to say how far it is: %w", verbs.ErrNotSupported)
	case s.Check && s.Test == Stream && s.Op.Receives() && !caps.DeliveryOrder.Holds:
		return fmt.Errorf("checking a stream whose messages come in any order: %w", verbs.ErrNotSupported)
	}
	return nil
}

func roundUp(n, to int) int { return (n + to - 1) / to * to }

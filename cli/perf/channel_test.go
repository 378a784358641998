package perf

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"heddle/channel"
	"heddle/verbs"
	"heddle/verbs/sim"
)

// channelBetween runs a test of channels between two ends of a network.
func channelBetween(t *testing.T, e *End, s ChannelSpec) (r ChannelResult, err, failed error) {
	t.Helper()
	a, b := net.Pipe()
	la, lb := NewLink(t.Context(), a), NewLink(t.Context(), b)
	done := make(chan error, 1)
	go func() { done <- lb.Serve(e, func(Result) {}) }()
	r, err = la.RunChannel(e, s)
	la.Close() //nolint:errcheck // of a test
	failed = <-done
	lb.Close() //nolint:errcheck // of a test
	return r, err, failed
}

// TestAllChannels runs each test with each kind of channel, on each kind of
// network that can have it.
func TestAllChannels(t *testing.T) {
	for _, p := range sim.Profiles() {
		t.Run(p.Name, func(t *testing.T) {
			e := end(t, simulated(t, p))
			caps := p.Caps()
			for _, k := range channel.Kinds() {
				for i, test := range []Test{Latency, Stream, Gather, Scatter} {
					s := ChannelSpec{
						Via: k.Name, Test: test, Size: 8 + 250*i, Time: time.Microsecond,
						CopySend: i%2 == 1, CopyReceive: i > 1, Timeout: 5 * time.Second,
					}
					if test == Gather || test == Scatter {
						s.Ends = 3
					}
					checkChannel(t, e, s, s.fits(&caps))
				}
			}
		})
	}
}

func checkChannel(t *testing.T, e *End, s ChannelSpec, refused error) {
	t.Helper()
	name := fmt.Sprintf("%s %s", s.Via, s.Test)
	r, err, failed := channelBetween(t, e, s)
	if refused != nil {
		if err == nil || failed == nil || !errors.Is(refused, verbs.ErrNotSupported) && !errors.Is(refused, channel.ErrNotSupported) {
			t.Errorf("%s: %v and %v, want %v", name, err, failed, refused)
		}
		return
	}
	switch {
	case err != nil || failed != nil:
		t.Errorf("%s: %v, %v", name, err, failed)
	case s.Test == Latency && r.Times.Median <= 0, s.Test != Latency && r.Rate <= 0, r.Senders <= 0, r.Receivers <= 0:
		t.Errorf("%s: %+v", name, r)
	}
}

// TestReceiversMemory is that of one ring for all senders, or of one for each.
func TestReceiversMemory(t *testing.T) {
	e := end(t, simulated(t, sim.InOrder()))
	for via, times := range map[string]int{"shared-bell": 1, "ring-bell": 4} {
		var got [2]int
		for i, ends := range []int{1, 4} {
			r, err, _ := channelBetween(t, e, ChannelSpec{Via: via, Test: Gather, Ends: ends, Size: 64, Time: time.Microsecond})
			if err != nil {
				t.Fatal(err)
			}
			got[i] = r.Receivers >> 20
		}
		if got[0] == 0 || got[1] != times*got[0] {
			t.Errorf("%s: %d MiB for a sender, %d for 4", via, got[0], got[1])
		}
	}
}

func TestSockets(t *testing.T) {
	e := end(t, simulated(t, sim.InOrder()))
	for _, via := range []string{UnixSocket, TCP} {
		for _, test := range []Test{Latency, Stream} {
			r, err, failed := channelBetween(t, e, ChannelSpec{Via: via, Test: test, Size: 100, Time: time.Microsecond})
			if err != nil || failed != nil || r.Times.Median <= 0 && r.Rate <= 0 {
				t.Errorf("%s %s: %+v, %v, %v", via, test, r, err, failed)
			}
		}
	}
}

func TestChannelSpecs(t *testing.T) {
	good := ChannelSpec{Via: "ring-bell", Size: 8}
	s, err := good.Filled()
	if err != nil || s.Test != Latency || s.Ends != 1 || s.Time != 50*time.Millisecond {
		t.Errorf("%+v, %v", s, err)
	}
	for want, change := range map[string]func(*ChannelSpec){
		"size 0":                func(s *ChannelSpec) { s.Size = 0 },
		"ends 65":               func(s *ChannelSpec) { s.Ends = 65 },
		"latency with 2 ends":   func(s *ChannelSpec) { s.Ends = 2 },
		"no test \"wake\"":      func(s *ChannelSpec) { s.Test = Wake },
		"scatter of sockets":    func(s *ChannelSpec) { s.Test, s.Via = Scatter, TCP },
		"channel \"nonsense\"":  func(s *ChannelSpec) { s.Via = "nonsense" },
		"time -1":               func(s *ChannelSpec) { s.Time = -1 },
		"timeout 7200000000000": func(s *ChannelSpec) { s.Timeout = 2 * time.Hour },
	} {
		s := good
		change(&s)
		if _, err := s.Filled(); !errors.Is(err, verbs.ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// TestComparisonBites has a message that is not what it should be.
func TestComparisonBites(t *testing.T) {
	b := make([]byte, 100)
	write(b, 2<<32+1)
	in := &inlet{size: 100, numbers: []uint64{0, 1 << 32, 2 << 32}}
	if err := in.compare(b, 2); err != nil {
		t.Error(err)
	}
	for _, x := range []struct {
		b      []byte
		source int
	}{{b, 2}, {b, 1}, {b[:99], 0}} {
		if err := in.compare(slices.Clone(x.b), x.source); err == nil {
			t.Errorf("%d bytes of source %d are taken for right", len(x.b), x.source)
		}
	}
}

// TestCountsAreCompared has one message less come than was sent.
func TestCountsAreCompared(t *testing.T) {
	s := ChannelSpec{Test: Gather}
	from, to := measured{Messages: 10}, measured{Messages: 9, Elapsed: time.Second}
	if _, err := s.result(to, from); err == nil {
		t.Error("a loss is not seen")
	}
	to.Messages = 10
	if r, err := s.result(to, from); err != nil || r.Rate != 10 {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestCounter counts the crossings of the network: two each time, wherever the
// word is.
func TestCounter(t *testing.T) {
	n, err := sim.New(sim.Config{Clock: sim.Crossings})
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	d, err := n.Add("ib")
	if err != nil {
		t.Fatal(err)
	}
	for _, inDevice := range []bool{false, true} {
		got, err := Counter(t.Context(), d, inDevice, 20, n.Now)
		if err != nil || got.Median*1e3 != 2 {
			t.Errorf("device memory %t: %+v, %v", inDevice, got, err)
		}
	}
	if _, err := Counter(t.Context(), simulated(t, sim.IWARP()), true, 1, n.Now); !errors.Is(err, verbs.ErrNotSupported) {
		t.Errorf("a device without memory: %v", err)
	}
}

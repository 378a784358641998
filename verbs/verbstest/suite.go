package verbstest

import (
	"cmp"
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"heddle/ib"
	"heddle/verbs"
)

// Suite is a provider, or one kind of its devices. Zero means what the comments
// say.
type Suite struct {
	// Open opens two contexts that reach each other: of two devices, or both of
	// one. It is called for each test, which closes them. Tb's Cleanup is for
	// what is to be ended after that.
	Open func(tb testing.TB) (near, far verbs.Context)
	// Deviations are the tests that are known to fail.
	Deviations []Deviation
	// Lossy is a network that loses packets: of the unreliable services nothing
	// can be tested then.
	Lossy bool
	// MaxSize is that of the longest message: 16 MiB, or with -short 64 KiB.
	MaxSize int
	// Rounds is how often a test repeats what depends on luck: 200 times, or with
	// -short 30 times.
	Rounds int
	// Seed is for all that is random: 1.
	Seed uint64
	// Patience is how long a test waits for what has to come, 20 s, and Moment
	// for what must not come, 20 ms.
	Patience, Moment time.Duration
	// Group, and GroupLID where the link has LIDs, are what datagrams are sent to
	// in the tests of multicast: ff0e::ffff:224.1.2.3, without a LID.
	Group    ib.MGID
	GroupLID ib.MLID
	// Around runs the body of a test, such as in a bubble of virtual time.
	Around func(t *testing.T, body func(*testing.T))
}

// Deviation is a test that a device is known to fail.
type Deviation struct {
	Test, Reason string
	// Skip keeps the test from being run, where it would end the process or
	// never end.
	Skip bool
	// Sometimes is a test that does not fail each time.
	Sometimes bool
}

func (s Suite) filled(short bool) *Suite {
	size, rounds := 16<<20, 200
	if short {
		size, rounds = 64<<10, 30
	}
	s.MaxSize, s.Rounds, s.Seed = cmp.Or(s.MaxSize, size), cmp.Or(s.Rounds, rounds), cmp.Or(s.Seed, 1)
	s.Patience, s.Moment = cmp.Or(s.Patience, 20*time.Second), cmp.Or(s.Moment, 20*time.Millisecond)
	if s.Group == (ib.MGID{}) {
		s.Group = ib.MustParseMGID("ff0e::ffff:e001:203")
	}
	if s.Around == nil {
		s.Around = func(t *testing.T, body func(*testing.T)) { body(t) }
	}
	return &s
}

// deviation is what is known of a test.
func (s *Suite) deviation(name string) (d Deviation, known bool) {
	for _, d := range s.Deviations {
		if d.Test == name {
			return d, true
		}
	}
	return Deviation{}, false
}

// env is a test at work: two devices, and what was opened of them.
type env struct {
	testing.TB
	suite     *Suite
	ctx       context.Context // done when patience is
	rand      *rand.Rand
	near, far *side
	closers   []closer
}

// run runs one test to its end. What it was is verdict's.
func (s *Suite) run(tb testing.TB, test *test) verdict {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(tb.Context()), s.Patience)
	defer cancel()
	e := &env{TB: tb, suite: s, ctx: ctx, rand: rand.New(rand.NewPCG(s.Seed, 0))}
	defer e.closeAll()
	near, far := s.Open(tb)
	e.near, e.far = e.side(near, "near"), e.side(far, "far")
	caps := e.near.caps
	if why := test.unpromised(s, &caps); why != "" {
		tb.Logf("not promised: %s", why)
		return unpromised
	}
	if missing := test.missing(&caps); missing != nil {
		missing.refused(e)
		return refused
	}
	test.run(e)
	return passed
}

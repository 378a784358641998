package channel

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"heddle/verbs"
)

// company is a near side, this process, with far sides that come and go.
type company struct {
	t        *testing.T
	rnd      *rand.Rand
	dev      verbs.Context
	fars     []*far
	sessions int
	kills    int
	holes    int
	messages map[string]uint64 // by kind
}

func newCompany(t *testing.T, seed uint64) *company {
	t.Helper()
	c := &company{t: t, rnd: rand.New(rand.NewPCG(seed, 3)), dev: liveDevice(t), messages: map[string]uint64{}}
	for range many {
		c.fars = append(c.fars, newFar(t))
	}
	t.Cleanup(func() {
		for _, f := range c.fars {
			if err := f.end(); err != nil {
				t.Errorf("a far side: %v", err)
			}
		}
	})
	return c
}

// session is one channel with ends on both sides.
type session struct {
	*company
	kind    *Kind
	job     job
	sends   bool          // the near side does
	members []*far        // the far sides that are in it
	victim  int           // of the members, that is killed; -1 for none
	after   time.Duration // when
	peers   []*Peer       // by member
	results []chan result
}

type result struct {
	outcome
	err error
}

// What ends a session early, and is no fault.
var (
	errOver = errors.New("who is left has ended")
	errHole = errors.New("a killed sender has left a hole in the ring that all share")
)

// session makes one. The near side sends, or receives, where the kind leaves that
// open.
func (c *company) session(kind *Kind, sends bool, j job) *session {
	c.sessions++
	j.Name, j.Kind = fmt.Sprint("session ", c.sessions), kind.Name
	s := &session{company: c, kind: kind, job: j, sends: sends, members: c.fars, victim: -1}
	switch {
	case kind.Senders:
		s.sends = false
	case kind.Readers:
		s.sends = true
	default:
		i := c.rnd.IntN(len(c.fars))
		s.members = c.fars[i : i+1]
	}
	s.peers, s.results = make([]*Peer, len(s.members)), make([]chan result, len(s.members))
	return s
}

// kill has a far side be killed after a while.
func (s *session) kill(after time.Duration) { s.victim, s.after = s.rnd.IntN(len(s.members)), after }

// run tells what went wrong.
func (s *session) run() error {
	ctx, cancel := context.WithTimeout(s.t.Context(), 2*patience)
	defer cancel()
	tr, err := NewTransport(s.dev, assumptionsFor(s.kind, s.dev)...)
	if err != nil {
		return err
	}
	for i := range s.members {
		s.results[i] = make(chan result, 1)
		go s.employ(i)
	}
	var killed sync.WaitGroup
	if s.victim >= 0 {
		killed.Add(1)
		time.AfterFunc(s.after, func() {
			s.members[s.victim].kill()
			killed.Done()
		})
	}
	if s.sends {
		err = s.send(ctx, tr)
	} else {
		err = s.receive(ctx, tr)
	}
	if e := tr.Close(); e != nil {
		err = errors.Join(err, fmt.Errorf("close the transport: %w", e))
	}
	killed.Wait()
	s.replace()
	return err
}

// employ gives a far side its job, and takes what came of it.
func (s *session) employ(i int) {
	j := s.job
	j.Sends, j.Source, j.Seed = !s.sends, i, uint64(s.sessions)
	var r result
	if r.err = s.members[i].in.Encode(&j); r.err == nil {
		r.err = s.members[i].out.Decode(&r.outcome)
	}
	s.results[i] <- r
}

// replace puts another far side in the place of one that was killed.
func (s *session) replace() {
	if s.victim < 0 {
		return
	}
	s.kills++
	for i, f := range s.fars {
		if f == s.members[s.victim] {
			_ = f.end() // it was killed
			s.fars[i] = newFar(s.t)
			return
		}
	}
}

func (s *session) config() Config {
	cfg := s.job.config()
	cfg.Peers = len(s.members)
	return cfg
}

// attach attaches all members; one that is killed meanwhile does not count.
func (s *session) attach(ctx context.Context, end inviter) error {
	errs := make([]error, len(s.members))
	var all sync.WaitGroup
	for i, f := range s.members {
		all.Go(func() { s.peers[i], errs[i] = f.link.Attach(ctx, s.job.Name, end) })
	}
	all.Wait()
	if s.victim >= 0 && errs[s.victim] != nil {
		errs[s.victim] = nil
		if len(s.members) == 1 {
			return errOver
		}
	}
	return errors.Join(errs...)
}

// send is the near side that sends.
func (s *session) send(ctx context.Context, tr *Transport) error {
	sender, err := tr.NewSender(s.kind, s.config())
	if err != nil {
		return err
	}
	var n uint64
	if err = s.attach(ctx, sender); err == nil {
		n, err = newFlow(uint64(s.sessions), 0, sender.MaxMessage()).send(ctx, sender, s.job.Span, s.job.Most)
	}
	s.messages[s.kind.Name] += n
	if errors.Is(err, errOver) || s.victim >= 0 && len(s.members) == 1 && errors.Is(err, ErrPeerGone) {
		err = nil
	}
	err = errors.Join(err, sender.Close())
	return errors.Join(err, s.judge(func(_ int, o outcome) error {
		if o.Messages != n || o.Err != "" {
			return fmt.Errorf("%d of %d messages came: %s", o.Messages, n, o.Err)
		}
		return nil
	}))
}

// receive is the near side that receives.
func (s *session) receive(ctx context.Context, tr *Transport) error {
	r, err := tr.NewReceiver(s.kind, s.config())
	if err != nil {
		return err
	}
	f := newFlow(uint64(s.sessions), 0, 0)
	if err = s.attach(ctx, r); err == nil {
		err = f.receive(ctx, r, len(s.members), func(d time.Duration) error { return s.idle(f, d) })
	}
	if err == nil {
		err = f.over(ctx, r)
	}
	s.messages[s.kind.Name] += f.came()
	hole := errors.Is(err, errHole)
	if hole || errors.Is(err, errOver) || s.victim >= 0 && len(s.members) == 1 && errors.Is(err, ErrPeerGone) {
		err = nil
	}
	err = errors.Join(err, r.Close())
	return errors.Join(err, s.judge(func(i int, o outcome) error {
		came := f.cameOf(i)
		switch {
		case hole && came <= o.Messages && (o.Err == "" || o.Gone && !strings.Contains(o.Err, "leak")):
			return nil // the rest lies behind the hole
		case came != o.Messages || o.Err != "":
			return fmt.Errorf("%d sent, %d came: %s", o.Messages, came, o.Err)
		}
		return nil
	}))
}

// idle tells whether to go on, when nothing has come for a while.
func (s *session) idle(f *flow, d time.Duration) error {
	waits := false
	for i, p := range s.peers {
		waits = waits || !f.hasEnded(i) && p != nil && p.Err() == nil
	}
	switch {
	case !waits && d > 100*time.Millisecond:
		return errOver
	case d > time.Second && s.victim >= 0 && (s.kind.Memory == RingShared):
		s.holes++
		return errHole
	case d > patience:
		return fmt.Errorf("nothing has come for %v", d)
	}
	return nil
}

// judge looks at what came of all that lived.
func (s *session) judge(fault func(i int, o outcome) error) error {
	var errs []error
	for i := range s.members {
		r := <-s.results[i]
		if i == s.victim {
			continue
		}
		err := r.err
		if err == nil {
			err = fault(i, r.outcome)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("far side %d: %w", i, err))
		}
	}
	return errors.Join(errs...)
}

// TestProcesses has each kind between processes, whose ends tell each other by
// links what they need: all comes, and then the end. And it has one of the
// processes be killed amid messages: the others go on, and who has no other learns
// of it.
func TestProcesses(t *testing.T) {
	c := newCompany(t, 1)
	j := job{Slots: 8, Size: 2000, Ring: 16 << 10, Span: patience, Most: 1000}
	if onKernel() {
		j.Most = 50
	}
	for _, kind := range Kinds() {
		for _, sends := range []bool{true, false} {
			if kind.Senders && sends || kind.Readers && !sends {
				continue
			}
			t.Run(fmt.Sprintf("%s/sends=%v", kind.Name, sends), func(t *testing.T) {
				must(t, c.session(kind, sends, j).run())
			})
		}
	}
	j.Most, j.Span = 0, 100*time.Millisecond
	for _, kind := range Kinds() {
		if onKernel() && kind.Number%5 != 3 { // a process is started slowly there
			continue
		}
		t.Run(kind.Name+"/killed", func(t *testing.T) {
			s := c.session(kind, c.sessions%2 == 0, j)
			s.kill(time.Duration(c.rnd.IntN(30)) * time.Millisecond)
			must(t, s.run())
		})
	}
}

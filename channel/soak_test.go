package channel

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"heddle/verbs/sim"
)

var soak = flag.Duration("soak", 3*time.Second, "how long TestSoak and TestSoakSim take each")

// TestSoak runs channels of all kinds between processes, one after the other, at
// full rate: with ends of any size, calls that are cancelled, leases that are given
// back, and processes that are killed at any moment. No message is lost, comes
// twice or is wrong, and neither this process nor one that lives on leaks anything.
func TestSoak(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	c := newCompany(t, seed)
	var before usage
	var kinds []*Kind
	const warm = 10
	for start := time.Now(); time.Since(start) < *soak || c.sessions <= warm; {
		if len(kinds) == 0 {
			kinds = Kinds()
			c.rnd.Shuffle(len(kinds), func(i, j int) { kinds[i], kinds[j] = kinds[j], kinds[i] })
		}
		s := c.anySession(kinds[0])
		kinds = kinds[1:]
		if err := s.run(); err != nil {
			t.Fatalf("session %d, %s, %+v, near side sends: %v, victim %d after %v: %v", c.sessions, s.kind.Name, s.job, s.sends, s.victim, s.after, err)
		}
		if c.sessions <= warm { // what is made once is made
			before = before.most(inUse())
		} else if after := settled(before); !after.within(before) {
			t.Fatalf("a leak: after %d sessions, the last one of %s: %+v before, %+v after", c.sessions, s.kind.Name, before, after)
		}
	}
	c.report()
	t.Logf("%+v held before, %+v after", before, settled(before))
}

// anySession is one of any size, with a victim or not.
func (c *company) anySession(kind *Kind) *session {
	s := c.session(kind, c.rnd.IntN(2) == 0, job{
		Slots: 2 + c.rnd.IntN(63), Size: 64 << c.rnd.IntN(9), Ring: 4096 << c.rnd.IntN(8),
		Span: time.Duration(20+c.rnd.IntN(130)) * time.Millisecond,
	})
	if c.rnd.IntN(4) == 0 {
		s.kill(time.Duration(c.rnd.Int64N(int64(s.job.Span * 5 / 4))))
	}
	return s
}

func (c *company) report() {
	var b strings.Builder
	total := uint64(0)
	for _, kind := range slices.Sorted(maps.Keys(c.messages)) {
		fmt.Fprintf(&b, " %s %d", kind, c.messages[kind])
		total += c.messages[kind]
	}
	c.t.Logf("%d sessions, %d processes killed (%d of them amid what others waited for, in rings that many share), %d messages:%s",
		c.sessions, c.kills, c.holes, total, b.String())
}

// TestSoakSim does so on simulated networks, with any of their faults, and devices
// that die.
func TestSoakSim(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 4))
	kinds, profiles := Kinds(), sim.Profiles()
	var before usage
	trials, kills, messages := 0, 0, uint64(0)
	for start := time.Now(); time.Since(start) < *soak; {
		kind, profile := kinds[rnd.IntN(len(kinds))], profiles[rnd.IntN(len(profiles))]
		caps := profile.Caps()
		if kind.Missing(&caps) != nil {
			continue
		}
		trials++
		x := newTrial(t, kind, profile, rnd.Uint64(), false)
		if rnd.IntN(3) == 0 {
			kills++
			x.killAt = 1 + rnd.IntN(2000)
		}
		if fault := x.run(); fault != "" {
			t.Fatalf("trial %d, %s on %s: %s", trials, kind.Name, profile.Name, fault)
		}
		if x.left != nil {
			t.Fatalf("trial %d, %s on %s: %v", trials, kind.Name, profile.Name, x.left)
		}
		for _, n := range x.came {
			messages += n
		}
		if trials <= 10 {
			before = before.most(inUse())
		} else if after := settled(before); !after.within(before) {
			t.Fatalf("a leak: after %d trials, the last one of %s: %+v before, %+v after", trials, kind.Name, before, after)
		}
	}
	t.Logf("%d trials, in %d of them a device died, %d messages; %+v held before, %+v after", trials, kills, messages, before, settled(before))
}

// kill has a device die; the others are told as a link tells them.
func (x *trial) kill() {
	i := x.rnd.IntN(len(x.senders) + len(x.receivers))
	var peers []*Peer
	if i < len(x.senders) {
		x.dead = fmt.Sprint("s", i)
		for _, r := range x.receivers {
			peers = append(peers, r.peers[i])
		}
	} else {
		i -= len(x.senders)
		x.dead = fmt.Sprint("r", i)
		for _, s := range x.senders {
			peers = append(peers, s.peers[i])
		}
	}
	devices, err := x.net.Devices()
	must(x.t, err)
	for _, d := range devices {
		if d.Name() == x.dead {
			d.(*sim.Device).Kill()
		}
	}
	for _, p := range peers {
		p.Lost(nil)
	}
}

func (x *trial) isAlive(side string, i int) bool {
	return x.dead == "" || x.dead != fmt.Sprint(side, i)
}

// fault is an error of an end; that a dead peer is gone is none.
func (x *trial) fault(side string, i int, err error) string {
	if x.dead != "" && errors.Is(err, ErrPeerGone) {
		return ""
	}
	return fmt.Sprintf("%s %d: %v", side, i, err)
}

// survived looks at what came of the others, after a device has died.
func (x *trial) survived() string {
	if !x.isDone() && len(x.senders)+len(x.receivers) > 2 {
		return fmt.Sprintf("after %s died: sent %d, came %d, and nothing more happens", x.dead, x.sent, x.came)
	}
	for i := range x.held {
		for len(x.held[i]) > 0 {
			x.release(i)
		}
	}
	return ""
}

// closeDevices closes what is used no more, and tells what still is.
func (x *trial) closeDevices() error {
	var errs []error
	for name, tr := range x.transports {
		if name != x.dead {
			errs = append(errs, tr.Close(), tr.dev.Close())
		}
	}
	return errors.Join(errs...)
}

package sm_test

import (
	"slices"
	"testing"
	"time"

	"heddle/emu"
	"heddle/ib"
	"heddle/mad"
	"heddle/sa"
)

// collector joins collected groups for all hosts.
type collector struct {
	client
	ports []ib.GID
}

func (r running) collector(t *testing.T) collector {
	t.Helper()
	f := r.fabric(t)
	c := collector{client: r.client(t, f.Node(f.Adapters()[0]).ID)}
	for _, host := range f.Adapters() {
		c.ports = append(c.ports, r.info(t, f.Node(host).ID).GID())
	}
	return c
}

// join lets a host join a group that will have so many members.
func (c collector) join(t *testing.T, group byte, count, host int) {
	t.Helper()
	q := mad.MCMemberRecord{MGID: mgid(group), QKey: 1, PKey: ib.DefaultPKey, PortGID: c.ports[host], MemberCount: uint16(count)}
	if _, err := c.Join(t.Context(), q, sa.MCMemberCreate|mad.MCMemberRecordMemberCount); err != nil {
		t.Fatalf("group %d, host %d: %v", group, host, err)
	}
}

func (c collector) fill(t *testing.T, group byte, count int) {
	t.Helper()
	for host := range count {
		c.join(t, group, count, host)
	}
}

func (c collector) state(t *testing.T, group byte) mad.MCGState {
	t.Helper()
	s, err := sa.Get(t.Context(), c.Client, mad.MCGStateRecord{MGID: mgid(group)}, mad.MCGStateRecordMGID)
	if err != nil {
		t.Fatal(err)
	}
	return s.State
}

// ready waits for a group to be so, a millisecond at a time.
func (c collector) ready(t *testing.T, group byte) (after time.Duration) {
	t.Helper()
	for start := time.Now(); ; time.Sleep(time.Millisecond) {
		after = time.Since(start)
		if c.state(t, group) == mad.MCGReady || after > time.Minute {
			return after
		}
	}
}

// TestLoneCollectedGroup: where no other group collects members, one that is
// complete is routed at once.
func TestLoneCollectedGroup(t *testing.T) {
	run(t, "fat-tree:k=4", emu.Config{}, func(t *testing.T, r running) {
		time.Sleep(10 * time.Second)
		c := r.collector(t)
		c.fill(t, 1, 4)
		if after := c.ready(t, 1); after < 4*time.Millisecond || after > 15*time.Millisecond {
			t.Errorf("ready after %v", after)
		}
	})
}

// TestCompleteGroupBesideOneThatIsNot waits a little for the other, which gets
// no more members.
func TestCompleteGroupBesideOneThatIsNot(t *testing.T) {
	run(t, "fat-tree:k=4", emu.Config{}, func(t *testing.T, r running) {
		time.Sleep(10 * time.Second)
		c := r.collector(t)
		c.join(t, 2, 4, 0)
		time.Sleep(time.Second)
		c.fill(t, 1, 4)
		if after := c.ready(t, 1); after < 29*time.Millisecond || after > 45*time.Millisecond {
			t.Errorf("ready after %v", after)
		}
	})
}

// TestTrickleOfJoins: joins that come and come hold up a group that is complete
// for no longer than the bound of the window.
func TestTrickleOfJoins(t *testing.T) {
	run(t, "fat-tree:k=4", emu.Config{}, func(t *testing.T, r running) {
		time.Sleep(10 * time.Second)
		c := r.collector(t)
		c.fill(t, 1, 4)
		start := time.Now()
		var states []mad.MCGState
		for n := 0; time.Since(start) < 3*time.Second; n++ {
			c.join(t, byte(2+n/15), 16, n%15) // no group gets its last member
			time.Sleep(20 * time.Millisecond)
			states = append(states, c.state(t, 1))
		}
		n := slices.Index(states, mad.MCGReady)
		if n < 0 {
			t.Fatal("never ready")
		}
		if after := time.Duration(n) * 20 * time.Millisecond; after < 1900*time.Millisecond || after > 2100*time.Millisecond {
			t.Errorf("ready after %v", after)
		}
	})
}

// TestGroupAfterGroup: groups that get complete one after the other, each later
// than the window's pause, are routed together, so that each block of a switch
// is written once.
func TestGroupAfterGroup(t *testing.T) {
	run(t, "fat-tree:k=4", emu.Config{}, func(t *testing.T, r running) {
		time.Sleep(10 * time.Second)
		c := r.collector(t)
		before := r.status(t).Stats.MFTSets
		for group := byte(1); group <= 20; group++ {
			for host := range 16 {
				c.join(t, group, 16, host)
				time.Sleep(3 * time.Millisecond)
			}
		}
		time.Sleep(time.Second)
		sets, switches := r.status(t).Stats.MFTSets-before, len(r.fabric(t).Switches())
		if sets == 0 || sets > uint64(switches) {
			t.Errorf("%d Sets of multicast tables for %d switches", sets, switches)
		}
		for group := byte(1); group <= 20; group++ {
			if s := c.state(t, group); s != mad.MCGReady {
				t.Errorf("group %d is %v", group, s)
			}
		}
	})
}

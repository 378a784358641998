package sm_test

import (
	"bytes"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"heddle/emu"
	"heddle/fabric"
	"heddle/ib"
	"heddle/mad"
	"heddle/sm"
	"heddle/sm/partition"
	"heddle/sm/plan"
	"heddle/umad"
)

// TestS1StaleLIDs: LIDs that were kept for two ports at once give each port one
// of its own.
func TestS1StaleLIDs(t *testing.T) {
	f := generate(t, "fat-tree:k=4")
	hosts := f.Adapters()
	guid := func(i int) ib.GUID { return f.Port(fabric.End{Node: hosts[i], Port: 1}).GUID }
	stale := func(c *sm.Config) {
		c.LIDs.Keep = map[ib.GUID]plan.LIDRange{guid(1): {First: 1, Last: 1}, guid(2): {First: 1, Last: 1}, guid(3): {First: 77, Last: 77}}
	}
	runOn(t, f, emu.Config{}, subject{change: stale}, func(t *testing.T, r running) {
		lids := r.distinct(t)
		if lids[1] != 1 && lids[2] != 1 || lids[3] != 77 {
			t.Errorf("LIDs %v: want 1 for one of two, and 77", lids)
		}
		r.well(t)
	})
}

// distinct gives the LIDs of all adapters, which are to differ.
func (r running) distinct(t *testing.T) []ib.LID {
	t.Helper()
	lids, seen := r.lids(t), map[ib.LID]int{}
	for i, lid := range lids {
		if before, ok := seen[lid]; ok || !lid.IsUnicast() {
			t.Errorf("host %d has LID %d, as host %d", i, lid, before)
		}
		seen[lid] = i
	}
	return lids
}

// TestS1DuplicateLIDs: of two ports with one LID, one gets another, and the
// LIDs of all others stay.
func TestS1DuplicateLIDs(t *testing.T) {
	run(t, "fat-tree:k=4", emu.Config{}, func(t *testing.T, r running) {
		before := r.distinct(t)
		r.at(t, r.fabric(t).Adapters()[9], func(c client) {
			got, err := c.port.Call(t.Context(), own(t, mad.MethodGet, mad.AttrPortInfo, 1, nil), umad.CallOptions{})
			if err != nil {
				t.Fatal(err)
			}
			info, err := mad.ParsePortInfo(got.Datagram().Data())
			if err != nil {
				t.Fatal(err)
			}
			info.LID, info.PortState, info.PortPhysicalState = before[4], mad.PortNoChange, mad.PhysNoChange
			if _, err := c.port.Call(t.Context(), own(t, mad.MethodSet, mad.AttrPortInfo, 1, info.AppendTo(nil)), umad.CallOptions{}); err != nil {
				t.Fatal(err)
			}
		})
		if now := r.lids(t); now[9] != before[4] {
			t.Fatalf("no duplicate was made: %v", now)
		}
		r.Resweep("the test")
		time.Sleep(30 * time.Second)
		for i, lid := range r.distinct(t) {
			if lid != before[i] && i != 4 && i != 9 {
				t.Errorf("host %d had LID %d and has %d", i, before[i], lid)
			}
		}
		r.well(t)
	})
}

// losing is a device that loses one datagram that it is to send.
type losing struct {
	umad.Device
	left *atomic.Int32
}

func (l losing) Send(m *umad.Message, timeout time.Duration) error {
	if l.left.Add(-1) == 0 {
		return nil
	}
	return l.Device.Send(m, timeout)
}

// TestS3OneLost: whichever datagram of a sweep is lost, it is sent again within
// the time for an answer, and the sweep is as good as any.
func TestS3OneLost(t *testing.T) {
	for _, nth := range []int32{1, 2, 3, 10, 50, 100, 200, 400} {
		var left atomic.Int32
		left.Store(nth)
		s := subject{wrap: func(d umad.Device) umad.Device { return losing{d, &left} }}
		manageOn(t, generate(t, "fat-tree:k=4"), emu.Config{}, s, func(t *testing.T, m managed) {
			start := time.Now()
			r, err := m.Sweep(t.Context())
			if err != nil || r.Failed > 0 || r.Nodes != 36 {
				t.Errorf("datagram %d lost: %+v, %v", nth, r, err)
			}
			if took := time.Since(start); took > 250*time.Millisecond {
				t.Errorf("datagram %d lost: the sweep took %v, and the time for an answer is 200 ms", nth, took)
			}
			if left.Load() > 0 {
				t.Errorf("datagram %d was never sent", nth)
			}
		})
	}
}

// TestS3Unreachable: a switch that never answers ends no sweep; the rest comes
// up, and the log names the path to the switch.
func TestS3Unreachable(t *testing.T) {
	var log bytes.Buffer
	s := subject{change: func(c *sm.Config) { c.Log = slog.New(slog.NewTextHandler(&log, nil)) }}
	manageOn(t, generate(t, "fat-tree:k=4"), emu.Config{}, s, func(t *testing.T, m managed) {
		f := running{managed: m}.fabric(t)
		silent := f.Switches()[3] // a leaf, with two hosts
		if err := m.live.Do(func(s *emu.Subnet) error { return s.SlowAgent(silent, time.Hour, 1) }); err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		r, err := m.Sweep(t.Context())
		if err != nil || r.Nodes != 33 || r.Switches != 19 {
			t.Errorf("%+v, %v: want all but a switch and its hosts", r, err)
		}
		if took := time.Since(start); took > 5*time.Second {
			t.Errorf("the sweep took %v", took)
		}
		if l := log.String(); !strings.Contains(l, "path 0,1,2,3,2,2, behind agg-p1-1") {
			t.Errorf("the path is not named:\n%s", l)
		}
	})
}

// TestS4TwoMasters: two halves of a subnet that come together have one master:
// the one of higher priority, then the one of the lower GUID.
func TestS4TwoMasters(t *testing.T) {
	for _, c := range []struct {
		name     string
		priority uint8 // of the rival; the other has 5
		wins     int   // host
	}{{"higher priority", 9, 2}, {"lower priority", 1, 0}, {"lower GUID", 5, 0}} {
		run(t, "ring:n=4", emu.Config{}, func(t *testing.T, r running) {
			f := r.fabric(t)
			hosts := f.Adapters()
			halves := func(change func(*emu.Subnet, fabric.LinkID)) {
				r.change(t, func(s *emu.Subnet) {
					for id := range fabric.LinkID(f.NumLinks()) {
						a, b := f.Link(id).A.Node, f.Link(id).B.Node
						half := func(n fabric.NodeID) bool { return n == f.Switches()[2] || n == f.Switches()[3] }
						if f.Node(a).Kind == fabric.Switch && f.Node(b).Kind == fabric.Switch && half(a) != half(b) {
							change(s, id)
						}
					}
				})
			}
			halves((*emu.Subnet).CutLink)
			rival := r.compete(t, hosts[2], c.priority)
			time.Sleep(30 * time.Second)
			if n := len(r.status(t).SMLIDs); n != 2 {
				t.Errorf("%s: %d masters of two halves", c.name, n)
			}
			halves((*emu.Subnet).RestoreLink)
			time.Sleep(30 * time.Second)
			states, manager := r.master(t, hosts[0], hosts[2])
			want := []mad.SMState{mad.SMMaster, mad.SMStandby}
			if c.wins == 2 {
				want[0], want[1] = want[1], want[0]
			}
			if manager != hosts[c.wins] || states[0] != want[0] || states[1] != want[1] {
				t.Errorf("%s: managed by node %d, states %v, want node %d and %v", c.name, manager, states, hosts[c.wins], want)
			}
			r.well(t)
			rival.end(t)
		})
	}
}

// TestS6StrangeDatagrams: what the manager does not know is answered
// "unsupported" or not at all, and it goes on.
func TestS6StrangeDatagrams(t *testing.T) {
	run(t, "single:hosts=4", emu.Config{}, func(t *testing.T, r running) {
		hosts := r.fabric(t).Adapters()
		manager := umad.ToLID(r.info(t, r.fabric(t).Node(hosts[0]).ID).LID)
		r.at(t, hosts[1], func(c client) {
			for _, class := range []mad.Class{0x09, 0x21, 0x32, 0x50} {
				var d mad.Datagram
				d.SetHeader(mad.Header{Class: class, ClassVersion: 1, Method: mad.MethodGet, Attr: 1})
				got, err := c.port.Call(t.Context(), &umad.Message{Address: manager, Data: d[:]}, umad.CallOptions{})
				if err != nil {
					t.Errorf("class %#x: %v", uint8(class), err)
				} else if s := got.Datagram().Status(); s != mad.StatusBadVersion && s != mad.StatusBadMethod {
					t.Errorf("class %#x: status %v", uint8(class), s)
				}
			}
			random := rand.New(rand.NewPCG(6, 6))
			for range 5000 {
				var d mad.Datagram
				for i := range d {
					d[i] = byte(random.Uint32())
				}
				d[0], d[1] = 1, []byte{3, 3, 3, 1, 4, 0x81}[random.IntN(6)]
				if random.IntN(2) == 0 {
					d[2], d[3] = 2, []byte{1, 2, 0x12, 0x14, 0x15, 6}[random.IntN(6)]
				}
				if random.IntN(2) == 0 {
					d[16], d[17] = 0, byte(0x30+random.IntN(16))
				}
				d[26] &= 0xfe // not by RMPP
				to := manager
				_ = c.port.Send(&umad.Message{Address: to, Data: d[:]}) // whatever comes of it
			}
		})
		time.Sleep(time.Minute)
		r.join(t, mgid(1), 0, hosts[2], hosts[3])
		r.well(t)
	})
}

// TestS8PartitionValues: mtu=4096 and rate=200 mean what they say, as the
// numbers of the enumerations do, and what can be neither is named.
func TestS8PartitionValues(t *testing.T) {
	for _, text := range []string{"Default=0x7fff,ipoib,mtu=4096,rate=200:ALL=full;", "Default=0x7fff,ipoib,mtu=5,rate=17:ALL=full;"} {
		parts, faults, err := partition.Read(strings.NewReader(text), partition.Options{})
		if err != nil || len(faults) > 0 {
			t.Fatal(faults, err)
		}
		runOn(t, generate(t, "single:hosts=4,rate=4xHDR"), emu.Config{}, subject{change: func(c *sm.Config) { c.PKeys.Partitions = parts }}, func(t *testing.T, r running) {
			r.at(t, r.fabric(t).Adapters()[2], func(c client) {
				broadcast := ib.MustParseMGID("ff12:401b:ffff::ffff:ffff")
				got, err := c.Join(t.Context(), mad.MCMemberRecord{MGID: broadcast}, 0)
				if err != nil || got.MTU != ib.MTU4096 || got.Rate != ib.Rate200 {
					t.Errorf("%s: MTU %v, rate %v, %v", text, got.MTU, got.Rate, err)
				}
			})
		})
	}
	_, faults, err := partition.Read(strings.NewReader("Default=0x7fff,ipoib,mtu=4097:ALL=full;"), partition.Options{Name: "parts"})
	if err != nil || len(faults) != 1 || !strings.Contains(faults[0].Error(), "4097") {
		t.Errorf("mtu=4097: %v, %v", faults, err)
	}
}

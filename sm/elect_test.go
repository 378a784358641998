package sm_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"heddle/emu"
	"heddle/fabric"
	"heddle/mad"
	"heddle/sm"
	"heddle/umad"
)

// rival is another manager of the same subnet.
type rival struct {
	port    *umad.Port
	manager *sm.Manager
	cancel  context.CancelFunc
	ended   chan error
}

// compete starts a manager at a host.
func (r running) compete(t *testing.T, host fabric.NodeID, priority uint8) *rival {
	t.Helper()
	dev, err := r.live.Open(r.fabric(t).Node(host).ID, 0)
	if err != nil {
		t.Fatal(err)
	}
	return r.competeOn(t, dev, priority)
}

func (r running) competeOn(t *testing.T, dev umad.Device, priority uint8) *rival {
	t.Helper()
	return competeBy(t, dev, config(t, priority))
}

// competeWith starts a manager at a host, of another configuration.
func (r running) competeWith(t *testing.T, host fabric.NodeID, change func(*sm.Config)) *rival {
	t.Helper()
	dev, err := r.live.Open(r.fabric(t).Node(host).ID, 0)
	if err != nil {
		t.Fatal(err)
	}
	cfg := config(t, 5)
	change(&cfg)
	return competeBy(t, dev, cfg)
}

func competeBy(t *testing.T, dev umad.Device, cfg sm.Config) *rival {
	t.Helper()
	v := &rival{port: umad.NewPort(dev), ended: make(chan error, 1)}
	var err error
	if v.manager, err = sm.New(v.port, cfg); err != nil {
		t.Fatal(err)
	}
	var ctx context.Context
	ctx, v.cancel = context.WithCancel(t.Context())
	go func() { v.ended <- v.manager.Run(ctx) }()
	return v
}

// end lets the manager hand over and end.
func (v *rival) end(t *testing.T) {
	t.Helper()
	v.cancel()
	if err := <-v.ended; err != nil {
		t.Error(err)
	}
	if err := v.port.Close(); err != nil {
		t.Error(err)
	}
}

// master is the LID that all ports have as their manager's, and the state that
// the managers at the given hosts say they have.
func (r running) master(t *testing.T, hosts ...fabric.NodeID) (states []mad.SMState, manager fabric.NodeID) {
	t.Helper()
	st := r.status(t)
	if len(st.SMLIDs) != 1 {
		t.Errorf("managers by port: %v, want one", st.SMLIDs)
	}
	f := r.fabric(t)
	for lid := range st.SMLIDs {
		for _, host := range f.Adapters() {
			if r.info(t, f.Node(host).ID).LID == lid {
				manager = host
			}
		}
	}
	dev, err := r.live.Open(f.Node(f.Adapters()[3]).ID, 0)
	if err != nil {
		t.Fatal(err)
	}
	port := umad.NewPort(dev)
	defer port.Close() //nolint:errcheck // nothing is outstanding
	for _, host := range hosts {
		var d mad.Datagram
		d.SetHeader(mad.Header{Class: mad.ClassLID, ClassVersion: 1, Method: mad.MethodGet, Attr: mad.AttrSMInfo})
		to := umad.ToSMA(r.info(t, f.Node(host).ID).LID)
		answer, err := port.Call(t.Context(), &umad.Message{Address: to, Data: d[:]}, umad.CallOptions{})
		if err != nil {
			t.Fatal(err)
		}
		info, err := mad.ParseSMInfo(answer.Datagram().Data())
		if err != nil {
			t.Fatal(err)
		}
		states = append(states, info.SMState)
	}
	return states, manager
}

// TestElection: a worse manager stands by, a better one is handed the subnet,
// and gives it back when it ends.
func TestElection(t *testing.T) {
	run(t, "fat-tree:k=4", emu.Config{}, func(t *testing.T, r running) {
		hosts := r.fabric(t).Adapters()
		expect := func(what string, master fabric.NodeID, want ...mad.SMState) {
			t.Helper()
			time.Sleep(30 * time.Second)
			states, manager := r.master(t, hosts[0], hosts[8])
			if manager != master || states[0] != want[0] || states[1] != want[1] {
				t.Errorf("%s: managed by node %d, states %v, want %d and %v", what, manager, states, master, want)
			}
			r.well(t)
		}
		worse := r.compete(t, hosts[8], 1)
		expect("a worse one", hosts[0], mad.SMMaster, mad.SMStandby)
		worse.end(t)
		better := r.compete(t, hosts[8], 9)
		expect("a better one", hosts[8], mad.SMStandby, mad.SMMaster)
		better.end(t)
		time.Sleep(30 * time.Second)
		if states, manager := r.master(t, hosts[0]); manager != hosts[0] || states[0] != mad.SMMaster {
			t.Errorf("the better one ended: managed by node %d, states %v", manager, states)
		}
		r.well(t)
	})
}

// mute is a device that answers no SMInfo for some time.
type mute struct {
	umad.Device
	until time.Time
}

func (d mute) Send(m *umad.Message, timeout time.Duration) error {
	if g := m.Datagram(); g.Attr() == mad.AttrSMInfo && g.Method() == mad.MethodGetResp && time.Now().Before(d.until) {
		return nil
	}
	return d.Device.Send(m, timeout)
}

// TestLateAnswer: a better manager that did not answer when its port told of it
// is found all the same, though nothing tells of it once more.
func TestLateAnswer(t *testing.T) {
	run(t, "fat-tree:k=4", emu.Config{}, func(t *testing.T, r running) {
		hosts := r.fabric(t).Adapters()
		dev, err := r.live.Open(r.fabric(t).Node(hosts[8]).ID, 0)
		if err != nil {
			t.Fatal(err)
		}
		better := r.competeOn(t, mute{dev, time.Now().Add(30 * time.Second)}, 9)
		time.Sleep(25 * time.Second)
		if _, manager := r.master(t); manager != hosts[0] {
			t.Errorf("managed by node %d before the better one answers", manager)
		}
		time.Sleep(30 * time.Second)
		if _, manager := r.master(t); manager != hosts[8] {
			t.Errorf("managed by node %d, want %d", manager, hosts[8])
		}
		better.end(t)
	})
}

// TestFailover: a master that dies without a word is followed within the time
// that its standby takes for polling.
func TestFailover(t *testing.T) {
	run(t, "fat-tree:k=4", emu.Config{}, func(t *testing.T, r running) {
		hosts := r.fabric(t).Adapters()
		better := r.compete(t, hosts[8], 9)
		time.Sleep(30 * time.Second)
		if err := r.live.Do(func(s *emu.Subnet) error { s.KillNode(hosts[8]); return nil }); err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		for time.Since(start) < time.Minute {
			time.Sleep(100 * time.Millisecond)
			if lids := r.status(t).SMLIDs; len(lids) == 1 && lids[r.info(t, r.fabric(t).Node(hosts[0]).ID).LID] > 0 {
				break
			}
		}
		if took := time.Since(start); took > 15*time.Second {
			t.Errorf("failover took %v", took)
		} else {
			t.Logf("failover took %v", took)
		}
		time.Sleep(time.Second)
		r.well(t, hosts[8])
		better.end(t)
	})
}

// writes is a device that counts what is written into nodes: of one attribute,
// or 0 for all.
type writes struct {
	umad.Device
	attr mad.AttrID
	n    *atomic.Int32
}

func (d writes) Send(m *umad.Message, timeout time.Duration) error {
	if g := m.Datagram(); g.Class() == mad.ClassDirected && g.Method() == mad.MethodSet && g.Attr() != mad.AttrSMInfo && (d.attr == 0 || d.attr == g.Attr()) {
		d.n.Add(1)
	}
	return d.Device.Send(m, timeout)
}

// TestForeignMasterIsFoundFirst: a manager that comes up where another one is
// master, which does not answer at once, writes nothing before it has found it.
func TestForeignMasterIsFoundFirst(t *testing.T) {
	var silent atomic.Int64 // until then, in Unix nanoseconds
	quiet := subject{wrap: func(d umad.Device) umad.Device { return muteUntil{d, &silent} }}
	runOn(t, generate(t, "fat-tree:k=4"), emu.Config{}, quiet, func(t *testing.T, r running) {
		hosts := r.fabric(t).Adapters()
		time.Sleep(30 * time.Second)
		dev, err := r.live.Open(r.fabric(t).Node(hosts[8]).ID, 0)
		if err != nil {
			t.Fatal(err)
		}
		var n atomic.Int32
		silent.Store(time.Now().Add(900 * time.Millisecond).UnixNano()) // longer than it is waited for
		late := r.competeOn(t, writes{dev, 0, &n}, 1)
		time.Sleep(30 * time.Second)
		states, manager := r.master(t, hosts[0], hosts[8])
		if n.Load() > 0 || manager != hosts[0] || states[0] != mad.SMMaster || states[1] != mad.SMStandby {
			t.Errorf("%d SMPs written; managed by node %d, states %v", n.Load(), manager, states)
		}
		late.end(t)
	})
}

// muteUntil is a device that answers no SMInfo until a time.
type muteUntil struct {
	umad.Device
	until *atomic.Int64
}

func (d muteUntil) Send(m *umad.Message, timeout time.Duration) error {
	return mute{d.Device, time.Unix(0, d.until.Load())}.Send(m, timeout)
}

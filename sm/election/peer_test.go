package election_test

import (
	"log/slog"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"heddle/emu"
	"heddle/fabric"
	"heddle/fabric/topology"
	"heddle/ib"
	"heddle/internal/testenv"
	"heddle/mad"
	"heddle/sm/election"
	"heddle/sm/subnet"
	"heddle/umad"
)

// driver is a manager that takes part in the election of a subnet, and does
// nothing else.
type driver struct {
	t    *testing.T
	port *umad.Port
	kick chan struct{}
	done chan struct{}
	wait sync.WaitGroup

	mu      sync.Mutex
	m       *election.Machine // guarded by mu, as what follows
	sweep   int               // the one that counts
	closed  bool
	changed *sync.Cond // on mu: the state may have changed
}

// drive starts a manager at a node, until the end of the test.
func drive(t *testing.T, live *emu.Live, node string, priority uint8) *driver {
	t.Helper()
	dev, err := live.Open(node, 0)
	if err != nil {
		t.Fatal(err)
	}
	port := umad.NewPort(dev)
	info, err := port.Info()
	if err != nil {
		t.Fatal(err)
	}
	d := &driver{
		t: t, port: port, kick: make(chan struct{}, 1), done: make(chan struct{}),
		m: election.New(election.Config{GUID: info.PortGUID, Priority: priority, Key: 1}),
	}
	d.changed = sync.NewCond(&d.mu)
	for _, class := range []mad.Class{mad.ClassDirected, mad.ClassLID} {
		agent := umad.Agent{Class: class, Version: 1, Methods: []mad.Method{mad.MethodGet, mad.MethodSet, mad.MethodTrap}}
		if err := port.Handle(agent, d.request); err != nil {
			t.Fatal(err)
		}
	}
	if err := port.SetIsSM(true); err != nil {
		t.Fatal(err)
	}
	d.wait.Go(d.clock)
	d.with(func(now time.Time) { d.m.Start(now) })
	t.Cleanup(d.close)
	return d
}

func (d *driver) close() {
	d.mu.Lock()
	was := d.closed
	d.closed = true
	d.mu.Unlock()
	if was {
		return
	}
	close(d.done)
	if err := d.port.Close(); err != nil {
		d.t.Error(err)
	}
	d.wait.Wait()
}

// with changes the machine, and does what it says.
func (d *driver) with(change func(now time.Time)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return
	}
	change(time.Now())
	for _, a := range d.m.Take() {
		d.act(a)
	}
	d.changed.Broadcast()
	select {
	case d.kick <- struct{}{}:
	default:
	}
}

// act does one action. The lock is held.
func (d *driver) act(a election.Action) {
	if a.Kind != election.Ask {
		d.t.Log(d.m.Info().GUID, a.Kind, a.Peer.Port, a.Control, a.Reason)
	}
	switch a.Kind {
	case election.Discover, election.Lead, election.Resweep:
		d.look(0)
	case election.Follow, election.Leave:
		d.sweep++
	case election.Ask, election.Tell:
		d.send(a)
	case election.Announce, election.Note:
	}
}

// clock gives the machine its time.
func (d *driver) clock() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-d.done:
			return
		case <-d.kick:
		case <-timer.C:
			d.with(func(now time.Time) { d.m.Advance(now) })
		}
		d.mu.Lock()
		if at, ok := d.m.NextDeadline(); ok {
			timer.Reset(time.Until(at))
		}
		d.mu.Unlock()
	}
}

// request answers requests for SMInfo. A trap is answered, and has a master
// sweep.
func (d *driver) request(m *umad.Message) {
	g := m.Datagram()
	if g.Method() == mad.MethodTrap {
		d.answer(m, mad.StatusOK, nil)
		d.with(func(time.Time) {
			if d.m.State() == mad.SMMaster {
				d.look(0)
			}
		})
		return
	}
	info, err := mad.ParseSMInfo(g.Data())
	if g.Attr() != mad.AttrSMInfo || err != nil {
		return
	}
	d.with(func(now time.Time) {
		status, info := d.m.Request(now, election.Request{
			Set: g.Method() == mad.MethodSet, Control: mad.SMControl(g.Modifier()), Info: info, Path: back(g),
		})
		d.answer(m, status, info)
	})
}

// back is the way to the sender of a directed-route SMP.
func back(g *mad.Datagram) []uint8 {
	if g.Class() != mad.ClassDirected || g.HopCount() > mad.MaxHops {
		return nil
	}
	path := slices.Clone(g.ReturnPath()[1 : 1+g.HopCount()])
	slices.Reverse(path)
	return path
}

func (d *driver) answer(m *umad.Message, status mad.Status, a mad.Attribute) {
	if err := m.Reply(status); err != nil {
		d.t.Error(err)
	}
	if a != nil {
		a.AppendTo(m.Datagram().Data()[:0])
	}
	if err := d.port.Send(m); err != nil {
		d.t.Log(err) // at the end of the test
	}
}

// send sends an Ask or a Tell. The lock is held.
func (d *driver) send(a election.Action) {
	method := mad.MethodGet
	if a.Kind == election.Tell {
		method = mad.MethodSet
	}
	m := smInfo(d.t, a.Peer.Path, method, a.Control)
	if a.Kind == election.Tell {
		a.Info.AppendTo(m.Datagram().Data()[:0])
	}
	err := d.port.Start(m, umad.CallOptions{}, func(m *umad.Message, err error) {
		var info mad.SMInfo
		if err == nil {
			info, err = mad.ParseSMInfo(m.Datagram().Data())
		}
		d.with(func(now time.Time) {
			if err != nil {
				d.m.Unanswered(now, a.ID)
				return
			}
			d.t.Log("answered", a.Kind, a.Control, m.Datagram().Status(), info)
			d.m.Answered(now, a.ID, m.Datagram().Status(), info)
		})
	})
	if err != nil {
		d.t.Log(err)
	}
}

func smInfo(t *testing.T, path []uint8, method mad.Method, c mad.SMControl) *umad.Message {
	m := &umad.Message{Address: umad.ByRoute(), Data: make([]byte, mad.Size)}
	m.Datagram().SetHeader(mad.Header{Class: mad.ClassDirected, ClassVersion: 1, Method: method, Attr: mad.AttrSMInfo, Modifier: uint32(c)})
	if err := m.Datagram().SetPath(path); err != nil {
		t.Error(err)
	}
	return m
}

// look sweeps after a while, and a master then every 3 s. The lock is held.
func (d *driver) look(after time.Duration) {
	d.sweep++
	number := d.sweep
	d.wait.Go(func() {
		select {
		case <-d.done:
			return
		case <-time.After(after):
		}
		peers, err := d.found()
		d.with(func(now time.Time) {
			switch {
			case d.sweep != number:
				return
			case err != nil:
				d.m.SweepFailed(now, err.Error())
				return
			}
			d.m.Swept(now, peers)
			if d.m.State() == mad.SMMaster {
				d.m.Programmed(now)
				d.look(3 * time.Second)
			}
		})
	})
}

// found asks all ports that say that they have a manager.
func (d *driver) found() ([]election.Peer, error) {
	v, err := subnet.Sweep(d.t.Context(), d.port, subnet.Options{})
	if err != nil {
		return nil, err
	}
	own := v.Own
	var peers []election.Peer
	for _, n := range v.Nodes {
		for _, number := range n.Addressed() {
			p := &n.Ports[number]
			if p.Info.CapabilityMask&mad.CapIsSM == 0 || own == (fabric.End{Node: n.ID, Port: uint16(number)}) {
				continue
			}
			m, err := d.port.Call(d.t.Context(), smInfo(d.t, p.Path, mad.MethodGet, 0), umad.CallOptions{})
			if err != nil {
				continue
			}
			info, err := mad.ParseSMInfo(m.Datagram().Data())
			if err != nil {
				return nil, err
			}
			peers = append(peers, election.Peer{Port: p.GUID, Info: info, Path: p.Path})
		}
	}
	return peers, nil
}

// await waits for a state, and the master that goes with Standby.
func (d *driver) await(state mad.SMState, master ib.GUID) {
	d.t.Helper()
	const limit = time.Minute
	expired := false
	timer := time.AfterFunc(limit, func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		expired = true
		d.changed.Broadcast()
	})
	defer timer.Stop()
	d.mu.Lock()
	defer d.mu.Unlock()
	for !expired {
		p, _ := d.m.Master()
		if d.m.State() == state && p.Port == master {
			return
		}
		d.changed.Wait()
	}
	d.t.Fatalf("%v, not %v under %v in %v", d.m.State(), state, master, limit)
}

// TestWithOpenSM has a machine and OpenSM on one subnet.
func TestWithOpenSM(t *testing.T) {
	t.Run("ours is better", func(t *testing.T) { withOpenSM(t, testBetter) })
	t.Run("OpenSM is better", func(t *testing.T) { withOpenSM(t, testWorse) })
	t.Run("same priority", func(t *testing.T) { withOpenSM(t, testSame) })
	t.Run("two subnets become one, ours is better", func(t *testing.T) { withOpenSM(t, testMergeBetter) })
	t.Run("two subnets become one, OpenSM is better", func(t *testing.T) { withOpenSM(t, testMergeWorse) })
}

// duel is a subnet with both.
type duel struct {
	live  *emu.Live
	name  string        // of the sockets
	nodes []string      // adapters
	link  fabric.LinkID // of adapter 5
}

// settings make OpenSM look and poll as often as the driver does.
func settings(more string) []string {
	return []string{"sminfo_polling_timeout 1000", "polling_retry_number 4", "sweep_interval 3", more}
}

func withOpenSM(t *testing.T, test func(*testing.T, duel)) {
	f, err := topology.Generate("fat-tree:k=4")
	if err != nil {
		t.Fatal(err)
	}
	live, err := emu.Start(f, emu.Config{})
	if err != nil {
		t.Fatal(err)
	}
	x := duel{live: live, name: testenv.SocketName(t)}
	for _, id := range f.Adapters() {
		x.nodes = append(x.nodes, f.Node(id).ID)
	}
	x.link = f.Port(fabric.End{Node: f.Adapters()[5], Port: 1}).Link
	server, err := live.Serve(x.name, emu.ServeConfig{Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
		if err := live.Close(); err != nil {
			t.Error(err)
		}
	})
	test(t, x)
}

func (x duel) guid(t *testing.T, node string) ib.GUID {
	t.Helper()
	d, err := x.live.Open(node, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close() //nolint:errcheck // it was only looked at
	info, err := d.Info()
	if err != nil {
		t.Fatal(err)
	}
	return info.PortGUID
}

// testBetter: OpenSM is master and hands over to us; we end, and hand over to
// it.
func testBetter(t *testing.T, x duel) {
	sm := testenv.StartOpenSM(t, x.name, x.nodes[0], settings("sm_priority 3")...)
	sm.WaitSubnetUp(t)
	d := drive(t, x.live, x.nodes[5], 9)
	d.await(mad.SMMaster, 0)
	sm.WaitLog(t, "Entering STANDBY state")
	d.with(func(now time.Time) { d.m.Stop(now) })
	sm.WaitLog(t, "Entering MASTER state")
	d.await(mad.SMNotActive, 0)
}

// testWorse: we are master, and hand over to OpenSM as it comes; it is killed,
// and we are master again.
func testWorse(t *testing.T, x duel) {
	d := drive(t, x.live, x.nodes[5], 3)
	d.await(mad.SMMaster, 0)
	sm := testenv.StartOpenSM(t, x.name, x.nodes[0], settings("sm_priority 9")...)
	sm.WaitLog(t, "Entering MASTER state")
	d.await(mad.SMStandby, x.guid(t, x.nodes[0]))
	sm.WaitSubnetUp(t)
	if err := syscall.Kill(sm.PID(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	d.await(mad.SMMaster, 0)
}

// testSame: the lower GUID, which is OpenSM's. We die as a standby, and OpenSM
// does as a master that we stand by.
func testSame(t *testing.T, x duel) {
	d := drive(t, x.live, x.nodes[5], 5)
	sm := testenv.StartOpenSM(t, x.name, x.nodes[0], settings("sm_priority 5")...)
	d.await(mad.SMStandby, x.guid(t, x.nodes[0]))
	sm.WaitLog(t, "Entering MASTER state")
	d.close()
	again := drive(t, x.live, x.nodes[2], 9)
	again.await(mad.SMMaster, 0)
	again.close() // without a word
	sm.WaitLog(t, "Entering STANDBY state")
	sm.WaitLog(t, "Entering MASTER state")
}

// do changes the subnet.
func (x duel) do(t *testing.T, change func(*emu.Subnet)) {
	t.Helper()
	if err := x.live.Do(func(s *emu.Subnet) error { change(s); return nil }); err != nil {
		t.Fatal(err)
	}
}

// testMergeBetter: a cut makes both masters; after it OpenSM gives up.
func testMergeBetter(t *testing.T, x duel) {
	d := drive(t, x.live, x.nodes[5], 9)
	d.await(mad.SMMaster, 0)
	sm := testenv.StartOpenSM(t, x.name, x.nodes[0], settings("sm_priority 3")...)
	sm.WaitLog(t, "Entering STANDBY state")
	x.do(t, func(s *emu.Subnet) { s.CutLink(x.link) })
	sm.WaitLog(t, "Entering MASTER state")
	sm.WaitSubnetUp(t)
	d.await(mad.SMMaster, 0)
	x.do(t, func(s *emu.Subnet) { s.RestoreLink(x.link) })
	sm.WaitLog(t, "Entering STANDBY state")
	d.await(mad.SMMaster, 0)
}

// testMergeWorse: a cut makes both masters; after it we give up.
func testMergeWorse(t *testing.T, x duel) {
	sm := testenv.StartOpenSM(t, x.name, x.nodes[0], settings("sm_priority 9")...)
	sm.WaitSubnetUp(t)
	d := drive(t, x.live, x.nodes[5], 3)
	d.await(mad.SMStandby, x.guid(t, x.nodes[0]))
	x.do(t, func(s *emu.Subnet) { s.CutLink(x.link) })
	d.await(mad.SMMaster, 0)
	x.do(t, func(s *emu.Subnet) { s.RestoreLink(x.link) })
	d.await(mad.SMStandby, x.guid(t, x.nodes[0]))
}

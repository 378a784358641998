package sm_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"heddle/emu"
	"heddle/fabric"
	"heddle/ib"
	"heddle/mad"
	"heddle/sa"
	"heddle/umad"
)

// client is one of subnet administration, at a node.
type client struct {
	*sa.Client
	port *umad.Port
}

func (r running) client(t *testing.T, node string) client {
	t.Helper()
	dev, err := r.live.Open(node, 0)
	if err != nil {
		t.Fatal(err)
	}
	port := umad.NewPort(dev)
	t.Cleanup(func() {
		if err := port.Close(); err != nil {
			t.Error(err)
		}
	})
	return client{sa.New(port, sa.Options{}), port}
}

func mgid(n byte) ib.MGID {
	g := ib.MustParseMGID("ff12:a01c::1")
	g[15] = n
	return g
}

// join lets hosts join a group, each for itself.
func (r running) join(t *testing.T, g ib.MGID, count int, hosts ...fabric.NodeID) (mlid ib.MLID) {
	t.Helper()
	for _, host := range hosts {
		c := r.client(t, r.fabric(t).Node(host).ID)
		q := mad.MCMemberRecord{MGID: g, QKey: 1, PKey: ib.DefaultPKey, MemberCount: uint16(count)}
		mask := sa.MCMemberCreate
		if count > 0 {
			mask |= mad.MCMemberRecordMemberCount
		}
		got, err := c.Join(t.Context(), q, mask)
		if err != nil {
			t.Fatalf("host %d: %v", host, err)
		}
		mlid = got.MLID
		if err := c.port.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return mlid
}

// spread sends a packet to an MLID from a host, through the tables that the
// switches answer with, and gives the hosts that it comes to, each as often as
// it does.
func (r running) spread(t *testing.T, mlid ib.MLID, from fabric.NodeID) (reached []fabric.NodeID) {
	t.Helper()
	f := r.fabric(t)
	type visit struct{ at fabric.End }
	leaf, ok := f.Leaf(fabric.End{Node: from, Port: 1})
	if !ok {
		t.Fatalf("%s hangs on no switch", f.Node(from).Label())
	}
	for todo := []visit{{leaf}}; len(todo) > 0; {
		v := todo[0]
		todo = todo[1:]
		for port := uint16(1); port <= f.Node(v.at.Node).NumPorts; port++ {
			if port == v.at.Port || !r.forwards(t, v.at.Node, mlid, port) {
				continue
			}
			peer, ok := f.Peer(fabric.End{Node: v.at.Node, Port: port})
			switch {
			case !ok:
				t.Errorf("%s sends to port %d, where nobody is", f.Node(v.at.Node).Label(), port)
			case f.Node(peer.Node).Kind == fabric.Switch:
				todo = append(todo, visit{peer})
			default:
				reached = append(reached, peer.Node)
			}
			if len(todo)+len(reached) > 1000 {
				t.Fatal("the packet goes round")
			}
		}
	}
	slices.Sort(reached)
	return reached
}

// forwards asks a switch for its table.
func (r running) forwards(t *testing.T, sw fabric.NodeID, mlid ib.MLID, port uint16) bool {
	t.Helper()
	dev, err := r.live.Open(r.fabric(t).Node(sw).ID, 0)
	if err != nil {
		t.Fatal(err)
	}
	p := umad.NewPort(dev)
	defer p.Close() //nolint:errcheck // nothing is outstanding
	var d mad.Datagram
	n := uint16(mlid - ib.FirstMLID)
	d.SetHeader(mad.Header{
		Class: mad.ClassDirected, ClassVersion: 1, Method: mad.MethodGet, Attr: mad.AttrMulticastForwarding,
		Modifier: mad.MulticastModifier(n/32, uint8(port/16)),
	})
	if err := d.SetPath(nil); err != nil {
		t.Fatal(err)
	}
	answer, err := p.Call(t.Context(), &umad.Message{Address: umad.ByRoute(), Data: d[:]}, umad.CallOptions{})
	if err != nil {
		t.Fatal(err)
	}
	block, err := mad.ParseMulticastForwarding(answer.Datagram().Data())
	if err != nil {
		t.Fatal(err)
	}
	return block[n%32]>>(port%16)&1 != 0
}

// TestPlainGroup joins host after host: each time all reach each other.
func TestPlainGroup(t *testing.T) {
	run(t, "fat-tree:k=4", emu.Config{}, func(t *testing.T, r running) {
		hosts := r.fabric(t).Adapters()
		members := []fabric.NodeID{hosts[0], hosts[1], hosts[6], hosts[15]}
		for i, host := range members {
			mlid := r.join(t, mgid(1), 0, host)
			time.Sleep(time.Second)
			for _, from := range members[:i+1] {
				want := slices.DeleteFunc(slices.Clone(members[:i+1]), func(n fabric.NodeID) bool { return n == from })
				if got := r.spread(t, mlid, from); !slices.Equal(got, want) {
					t.Errorf("after %d joins a packet of %d reaches %v, want %v", i+1, from, got, want)
				}
			}
		}
	})
}

// TestCollectedGroup is routed once, when all have joined, and says so.
func TestCollectedGroup(t *testing.T) {
	run(t, "fat-tree:k=4", emu.Config{}, func(t *testing.T, r running) {
		hosts := r.fabric(t).Adapters()
		members := []fabric.NodeID{hosts[2], hosts[5], hosts[9]}
		state := func() mad.MCGStateRecord {
			c := r.client(t, r.fabric(t).Node(members[0]).ID)
			s, err := sa.Get(t.Context(), c.Client, mad.MCGStateRecord{MGID: mgid(2)}, mad.MCGStateRecordMGID)
			if err = errors.Join(err, c.port.Close()); err != nil {
				t.Fatal(err)
			}
			return s
		}
		mlid := r.join(t, mgid(2), 3, members[:2]...)
		time.Sleep(time.Second)
		if s := state(); s.State != mad.MCGReceivingJoinReq || s.Joined != 2 || s.MemberCount != 3 {
			t.Errorf("two of three joined: %+v", s)
		}
		if got := r.spread(t, mlid, members[0]); len(got) > 0 {
			t.Errorf("routed before all have joined: %v", got)
		}
		r.join(t, mgid(2), 3, members[2])
		time.Sleep(time.Second)
		if s := state(); s.State != mad.MCGReady {
			t.Errorf("all joined: %+v", s)
		}
		if got := r.spread(t, mlid, members[0]); !slices.Equal(got, members[1:]) {
			t.Errorf("a packet reaches %v, want %v", got, members[1:])
		}
	})
}

// TestGroupsFollowTheFabric: a tree's switch dies and comes back.
func TestGroupsFollowTheFabric(t *testing.T) {
	run(t, "fat-tree:k=4", emu.Config{}, func(t *testing.T, r running) {
		hosts := r.fabric(t).Adapters()
		members := []fabric.NodeID{hosts[0], hosts[7], hosts[11]}
		mlid := r.join(t, mgid(3), 0, members...)
		time.Sleep(time.Second)
		for _, sw := range r.fabric(t).Switches()[8:] { // those without hosts
			r.change(t, func(s *emu.Subnet) { s.KillNode(sw) })
			if got := r.spread(t, mlid, members[0]); !slices.Equal(got, members[1:]) {
				t.Errorf("without %s a packet reaches %v, want %v", r.fabric(t).Node(sw).Label(), got, members[1:])
			}
			r.change(t, func(s *emu.Subnet) { s.ReviveNode(sw) })
			if got := r.spread(t, mlid, members[0]); !slices.Equal(got, members[1:]) {
				t.Errorf("with %s again a packet reaches %v, want %v", r.fabric(t).Node(sw).Label(), got, members[1:])
			}
		}
	})
}

// TestReadAhead: a manager that has nothing else to do learns what the switches
// hold, so that a join costs no more than the Sets that write it.
func TestReadAhead(t *testing.T) {
	run(t, "fat-tree:k=4", emu.Config{}, func(t *testing.T, r running) {
		time.Sleep(5 * time.Second)
		hosts := r.fabric(t).Adapters()
		for n := byte(1); n <= 40; n++ { // of one member, without entries: a sweep has read the first block for itself
			r.join(t, mgid(n), 0, hosts[0])
		}
		time.Sleep(time.Second)
		r.join(t, mgid(40), 0, hosts[8])
		time.Sleep(time.Second)
		before := r.status(t).Stats
		r.join(t, mgid(39), 0, hosts[15])
		time.Sleep(time.Second)
		after := r.status(t).Stats
		// Beside each Set of a table there may be one of its top.
		if sets, smps := after.MFTSets-before.MFTSets, after.SMPs-before.SMPs; sets == 0 || smps > 2*sets {
			t.Errorf("%d SMPs for %d Sets of multicast tables", smps, sets)
		}
	})
}

// TestSweepReadsTablesOnce: however many groups there are, a sweep does not read
// the tables of switches that stayed.
func TestSweepReadsTablesOnce(t *testing.T) {
	run(t, "fat-tree:k=4", emu.Config{}, func(t *testing.T, r running) {
		sweep := func() uint64 {
			before := r.status(t).Stats
			r.Resweep("the test")
			time.Sleep(time.Second)
			return r.status(t).Stats.SMPs - before.SMPs
		}
		time.Sleep(5 * time.Second)
		without := sweep()
		host := r.fabric(t).Adapters()[0]
		for n := range 1100 { // more than is read ahead
			g := mgid(byte(n))
			g[14] = byte(n >> 8)
			r.join(t, g, 0, host)
		}
		time.Sleep(time.Second)
		if with, switches := sweep(), uint64(len(r.fabric(t).Switches())); with > without+2*switches {
			t.Errorf("%d SMPs with groups, %d without", with, without)
		}
	})
}

// TestQueries reads whole tables, and the path between two hosts.
func TestQueries(t *testing.T) {
	run(t, "fat-tree:k=4", emu.Config{}, func(t *testing.T, r running) {
		f := r.fabric(t)
		a, b := r.info(t, f.Node(f.Adapters()[0]).ID), r.info(t, f.Node(f.Adapters()[15]).ID)
		c := r.client(t, f.Node(f.Adapters()[3]).ID)
		defer c.port.Close() //nolint:errcheck // closed once more by the cleanup
		nodes, err := sa.Query(t.Context(), c.Client, mad.NodeRecord{}, 0)
		if err != nil || len(nodes) != f.NumNodes() {
			t.Errorf("%d nodes, %v, want %d", len(nodes), err, f.NumNodes())
		}
		path, err := sa.Get(t.Context(), c.Client, mad.PathRecord{SGID: a.GID(), DGID: b.GID()},
			mad.PathRecordSGID|mad.PathRecordDGID)
		if err != nil || path.SLID != a.LID || path.DLID != b.LID {
			t.Errorf("path %+v, %v", path, err)
		}
	})
}

package sm_test

import (
	"errors"
	"flag"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"heddle/emu"
	"heddle/fabric"
	"heddle/ib"
	"heddle/mad"
	"heddle/route"
	"heddle/sa"
	"heddle/sm/group"
	"heddle/umad"
)

var (
	chaos = flag.Int("chaos", 3, "how many seeds of chaos")
	hours = flag.Int("hours", 1, "how many virtual hours of chaos each seed has")
)

// TestChaos lets a subnet lose a twentieth of its datagrams, links and switches
// come and go, and hosts join and leave groups, for hours. In a quiet time after
// each hour the tables are right, and nothing is left of what is gone.
func TestChaos(t *testing.T) {
	for seed := range uint64(*chaos) {
		run(t, "fat-tree:k=4", emu.Config{Seed: seed, Hop: time.Microsecond}, func(t *testing.T, r running) {
			random := rand.New(rand.NewPCG(seed, 7))
			var first size
			for hour := range *hours {
				r.hour(t, random)
				now := r.size(t)
				if hour == 0 {
					first = now
				}
				now.compare(t, first)
				if t.Failed() {
					t.Fatalf("seed %d, hour %d", seed, hour)
				}
			}
		})
	}
}

// hour is an hour of chaos and a few minutes without.
func (r running) hour(t *testing.T, random *rand.Rand) {
	t.Helper()
	r.trouble(t, emu.Trouble{Drop: 0.05, Duplicate: 0.01, Jitter: time.Millisecond})
	for range 120 {
		r.harm(t, random)
		r.churn(t, random)
		time.Sleep(time.Duration(random.IntN(60)) * time.Second)
	}
	r.trouble(t, emu.Trouble{})
	r.heal(t)
	hosts := r.fabric(t).Adapters()
	for range 3 { // the chaos may have left no member
		r.join(t, mgid(byte(random.IntN(12))), 0, hosts[random.IntN(5)], hosts[5+random.IntN(5)], hosts[10+random.IntN(6)])
	}
	time.Sleep(2 * time.Second)
	r.well(t)
	r.unicastIsRight(t)
	r.groupsAreRight(t)
}

// size is what the manager takes.
type size struct {
	goroutines int
	heap       int64
}

// size looks at it, and expects that each MLID in use is some group's.
func (r running) size(t *testing.T) size {
	t.Helper()
	s := r.Status()
	mlids := map[ib.MLID]bool{}
	r.Groups(func(table *group.Table) {
		for g := range table.Groups() {
			mlids[g.MLID] = true
		}
	})
	if len(mlids) != s.Groups.MLIDs || s.Groups.Retiring > 0 || len(s.Unsettled) > 0 {
		t.Errorf("%d MLIDs in use, %d retiring, %v not written; groups have %d", s.Groups.MLIDs, s.Groups.Retiring, s.Unsettled, len(mlids))
	}
	synctest.Wait() // for goroutines that are about to end
	return size{runtime.NumGoroutine(), heapNow()}
}

func (s size) compare(t *testing.T, before size) {
	t.Helper()
	// One of the runtime's own counts too, while it runs a finalizer.
	for range 10000 {
		if s.goroutines <= before.goroutines {
			break
		}
		runtime.Gosched()
		s.goroutines = runtime.NumGoroutine()
	}
	if s.goroutines > before.goroutines {
		t.Errorf("%d goroutines, before %d", s.goroutines, before.goroutines)
	}
	if s.heap > before.heap+before.heap/2+4<<20 {
		t.Errorf("%d KiB of memory, before %d", s.heap>>10, before.heap>>10)
	}
}

// unicastIsRight judges the tables that the switches hold.
func (r running) unicastIsRight(t *testing.T) {
	t.Helper()
	f := r.addressed(t)
	lids, err := route.LIDsOf(f)
	if err != nil {
		t.Fatal(err)
	}
	g := route.NewGraph(f, route.Selection{})
	lfts, err := route.NewLFTs(g, lids)
	if err != nil {
		t.Fatal(err)
	}
	for v, table := range lfts.Tables {
		r.at(t, g.Node(int32(v)), func(c client) {
			for first := 0; first < len(table); first += len(mad.LinearForwarding{}) {
				answer, err := c.port.Call(t.Context(), own(t, mad.MethodGet, mad.AttrLinearForwarding, uint32(first/len(mad.LinearForwarding{})), nil), umad.CallOptions{})
				if err != nil {
					t.Fatal(err)
				}
				copy(table[first:], answer.Datagram().Data())
			}
		})
	}
	for _, fault := range route.CheckLFTs(lfts) {
		t.Errorf("unicast: %v", fault)
	}
}

// addressed is the fabric with the LIDs that the ports have now.
func (r running) addressed(t *testing.T) *fabric.Fabric {
	t.Helper()
	f := r.fabric(t)
	var b fabric.Builder
	for id := range fabric.NodeID(f.NumNodes()) {
		n := f.Node(id)
		b.AddNode(n, fabric.Place{})
		for p := range n.NumPorts + 1 {
			e := fabric.End{Node: id, Port: p}
			info := f.Port(e).PortInfo
			info.LID = 0
			if (p == 0) == (n.Kind == fabric.Switch) {
				info.LID = r.info(t, n.ID).LID
			}
			b.SetPort(e, info, fabric.Place{})
		}
	}
	for id := range fabric.LinkID(f.NumLinks()) {
		l := f.Link(id)
		b.Cable(l.A, l.B, l.Rate, fabric.Place{})
	}
	g, _ := b.Build()
	return g
}

func (r running) trouble(t *testing.T, trouble emu.Trouble) {
	t.Helper()
	if err := r.live.Do(func(s *emu.Subnet) error { return s.Trouble(trouble) }); err != nil {
		t.Fatal(err)
	}
}

// harm does something to the subnet, but not to the manager's host.
func (r running) harm(t *testing.T, random *rand.Rand) {
	t.Helper()
	f := r.fabric(t)
	own, _ := f.Leaf(fabric.End{Node: f.Adapters()[0], Port: 1})
	link, node := fabric.LinkID(random.IntN(f.NumLinks())), fabric.NodeID(random.IntN(f.NumNodes()))
	l := f.Link(link)
	if l.A.Node == f.Adapters()[0] || l.B.Node == f.Adapters()[0] || node == f.Adapters()[0] || node == own.Node {
		return
	}
	err := r.live.Do(func(s *emu.Subnet) error {
		switch random.IntN(6) {
		case 0:
			s.CutLink(link)
		case 1, 2:
			s.RestoreLink(link)
		case 3:
			s.KillNode(node)
		case 4:
			s.ReviveNode(node)
		case 5:
			s.FlapLink(link, 3, 100*time.Millisecond, 200*time.Millisecond)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func (r running) heal(t *testing.T) {
	t.Helper()
	r.change(t, func(s *emu.Subnet) {
		for id := range s.Fabric().NumNodes() {
			s.ReviveNode(fabric.NodeID(id))
		}
		for id := range s.Fabric().NumLinks() {
			s.RestoreLink(fabric.LinkID(id))
		}
	})
	time.Sleep(5 * time.Minute) // collected groups that wait for others end in a minute
}

// churn lets a host join or leave one of a few groups. Whether it is heard
// depends on what is whole.
func (r running) churn(t *testing.T, random *rand.Rand) {
	t.Helper()
	f := r.fabric(t)
	host := f.Adapters()[random.IntN(len(f.Adapters()))]
	dev, err := r.live.Open(f.Node(host).ID, 0)
	if err != nil {
		t.Fatal(err)
	}
	port := umad.NewPort(dev)
	c := sa.New(port, sa.Options{Call: umad.CallOptions{Timeout: 100 * time.Millisecond}})
	q := mad.MCMemberRecord{MGID: mgid(byte(random.IntN(12))), QKey: 1, PKey: ib.DefaultPKey}
	switch random.IntN(6) {
	case 0:
		q.MGID, q.MemberCount = mgid(byte(32+random.IntN(6))), 2
		_, err = c.Join(t.Context(), q, sa.MCMemberCreate|mad.MCMemberRecordMemberCount)
	case 1, 2, 3:
		_, err = c.Join(t.Context(), q, sa.MCMemberCreate)
	default:
		err = c.Leave(t.Context(), q)
	}
	var refused *umad.StatusError
	if err != nil && !errors.As(err, &refused) && !errors.Is(err, umad.ErrTimeout) && !errors.Is(err, sa.ErrNoSM) {
		t.Errorf("host %d: %v", host, err)
	}
	if err := port.Close(); err != nil {
		t.Error(err)
	}
}

// groupsAreRight compares the members that the manager tells of with where the
// switches send, and expects no entry of any other MLID.
func (r running) groupsAreRight(t *testing.T) {
	t.Helper()
	f := r.fabric(t)
	dev, err := r.live.Open(f.Node(f.Adapters()[5]).ID, 0)
	if err != nil {
		t.Fatal(err)
	}
	port := umad.NewPort(dev)
	defer port.Close() //nolint:errcheck // nothing is outstanding
	records, err := sa.Query(t.Context(), sa.New(port, sa.Options{SMKey: 1}), mad.MCMemberRecord{}, 0)
	if err != nil {
		t.Fatal(err)
	}
	members := map[ib.MLID][]fabric.NodeID{}
	for _, m := range records {
		for _, host := range f.Adapters() {
			if r.info(t, f.Node(host).ID).GID() == m.PortGID {
				members[m.MLID] = append(members[m.MLID], host)
			}
		}
	}
	if len(members) == 0 {
		t.Error("no group is left to be judged")
	}
	for mlid := ib.FirstMLID; mlid < ib.FirstMLID+64; mlid++ {
		list := members[mlid]
		slices.Sort(list)
		if len(list) < 2 {
			r.expectNothing(t, mlid)
			continue
		}
		for _, from := range list {
			want := slices.DeleteFunc(slices.Clone(list), func(n fabric.NodeID) bool { return n == from })
			if got := r.spread(t, mlid, from); !slices.Equal(got, want) {
				t.Errorf("MLID %v: a packet of %d reaches %v, want %v", mlid, from, got, want)
			}
		}
	}
}

func (r running) expectNothing(t *testing.T, mlid ib.MLID) {
	t.Helper()
	f := r.fabric(t)
	for _, sw := range f.Switches() {
		for port := uint16(0); port <= f.Node(sw).NumPorts; port++ {
			if r.forwards(t, sw, mlid, port) {
				t.Errorf("MLID %v, which no group of two has, is sent by %s to port %d", mlid, f.Node(sw).Label(), port)
			}
		}
	}
}

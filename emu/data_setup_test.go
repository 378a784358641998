package emu_test

import (
	"cmp"
	"encoding/binary"
	"testing"
	"time"

	"heddle/emu"
	"heddle/fabric"
	"heddle/ib"
	"heddle/packet"
	"heddle/route"
	"heddle/route/multicast"
	"heddle/route/unicast"
)

// datagram is a UD packet of one segment, with a number in it.
type datagram struct {
	from, to ib.LID
	sl       ib.SL
	pkey     ib.PKey // 0 is the default one
	size     int     // of the payload, 8 at least
	number   uint64
}

// appendTo gives the packet from LRH to ICRC, which nobody here checks.
func (d datagram) appendTo(b []byte) []byte {
	payload := (max(d.size, 8) + 3) &^ 3
	lrh := packet.LRH{SL: d.sl, Next: packet.NextBTH, DLID: uint16(d.to), SLID: uint16(d.from)}
	grh := ib.MLID(d.to).IsValid()
	length := packet.LRHSize + packet.BTHSize + dethLen + payload + 4
	if grh {
		lrh.Next = packet.NextGRH
		length += packet.GRHSize
	}
	lrh.Words = uint16(length / 4)
	b = lrh.AppendTo(b)
	if grh {
		b = (&packet.GRH{Length: uint16(length - packet.LRHSize - packet.GRHSize)}).AppendTo(b)
	}
	b = (&packet.BTH{Opcode: packet.UD | packet.SendOnly, PKey: cmp.Or(d.pkey, ib.DefaultPKey)}).AppendTo(b)
	b = append(b, make([]byte, dethLen)...)
	b = binary.BigEndian.AppendUint64(b, d.number)
	return append(b, make([]byte, payload-8+4)...)
}

const dethLen = 8

// numberIn is the number of a packet.
func numberIn(b []byte) uint64 {
	at := 8 + 20
	if b[1]&3 == 3 {
		at += 40
	}
	return binary.BigEndian.Uint64(b[at:])
}

// reporter is a testing.TB or a rapid.T.
type reporter interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// dataNet is a subnet with our tables and a host at each end port.
type dataNet struct {
	t      reporter
	subnet *emu.Subnet
	lids   *route.LIDs
	lfts   *route.LFTs
	groups []fabric.Group
	mlids  []ib.MLID
	ends   []fabric.End
	lid    map[fabric.End]ib.LID
	hosts  map[fabric.End]*emu.Host
	got    map[uint64][]fabric.End // by number: where it came
}

// newNet makes a subnet of a fabric, with the tables of our engines, all ports
// Active.
func newNet(t reporter, f *fabric.Fabric, cfg emu.Config, engine string, groups []fabric.Group, hoq uint8) *dataNet {
	t.Helper()
	n := &dataNet{
		t: t, groups: groups, ends: f.EndPorts(), lid: map[fabric.End]ib.LID{},
		hosts: map[fabric.End]*emu.Host{}, got: map[uint64][]fabric.End{},
	}
	var err error
	n.subnet, err = emu.New(f, cfg)
	n.must(err)
	g := route.NewGraph(f, route.Selection{})
	hops, err := route.NewHops(g, 1)
	n.must(err)
	n.lids, err = route.AssignLIDs(f, 0)
	n.must(err)
	minhop, err := unicast.Lookup("minhop")
	n.must(err)
	n.lfts, err = minhop.Route(g, hops, n.lids, unicast.Options{Workers: 1})
	n.must(err)
	n.unicast(g)
	n.multicast(g, hops, engine)
	n.subnet.Activate(hoq)
	for _, e := range n.ends {
		n.hosts[e], err = n.subnet.AttachHost(e, emu.HostOptions{Receive: func(b []byte) {
			k := numberIn(b)
			n.got[k] = append(n.got[k], e)
		}})
		n.must(err)
	}
	return n
}

func (n *dataNet) must(err error) {
	n.t.Helper()
	if err != nil {
		n.t.Fatal(err)
	}
}

func (n *dataNet) unicast(g *route.Graph) {
	for lid := ib.MinUnicastLID; lid <= n.lids.Top(); lid++ {
		e, ok := n.lids.Owner(lid)
		if !ok {
			continue
		}
		n.lid[e] = lid
		n.must(n.subnet.SetLID(e, lid, 0))
		for v := range n.lfts.Tables {
			if port := n.lfts.Tables[v].Lookup(lid); port != route.NoPort {
				n.must(n.subnet.SetRoute(g.Node(int32(v)), lid, port))
			}
		}
	}
}

func (n *dataNet) multicast(g *route.Graph, hops *route.Hops, engine string) {
	if len(n.groups) == 0 {
		return
	}
	e, err := multicast.Lookup(engine)
	n.must(err)
	state, demand := route.NewState(g, hops), route.NewDemand(g, n.groups)
	_, err = route.All(state, demand, route.NewFinder(hops), e.New(g, hops, multicast.Options{}), time.Now)
	n.must(err)
	n.mlids, err = route.AssignMLIDs(state, demand)
	n.must(err)
	mfts, err := route.NewMFTs(state, demand, n.mlids)
	n.must(err)
	for v, table := range mfts.Tables {
		for _, row := range table {
			for port := range row.Ports.All() {
				n.must(n.subnet.SetMulticast(g.Node(int32(v)), row.MLID, port))
			}
		}
	}
}

// send sends a packet with a number from a port.
func (n *dataNet) send(from fabric.End, d datagram) {
	n.t.Helper()
	d.from = n.lid[from]
	n.must(n.hosts[from].Send(d.appendTo(nil)))
}

// drain lets happen what is under way, which ten seconds are enough for.
// Traps that nobody represses go on for ever.
func drain(s *emu.Subnet) {
	end := s.Now() + 10*time.Second
	for at, ok := s.Next(); ok && at <= end; at, ok = s.Next() {
		s.Advance(at)
	}
}

// settled checks that each packet and copy is accounted for.
func (n *dataNet) settled() {
	n.t.Helper()
	d := n.subnet.Data()
	if d.Sent+d.Copied != d.Delivered+d.AllLost() {
		n.t.Fatalf("%d packets sent and %d copies; %d delivered and %d lost (%v)", d.Sent, d.Copied, d.Delivered, d.AllLost(), d.Lost)
	}
}

var _ reporter = testing.TB(nil)

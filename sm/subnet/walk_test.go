package subnet

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"heddle/fabric"
	"heddle/fabric/topology"
	"heddle/ib"
	"heddle/mad"
)

// subnet answers the questions of a walk from a fabric, without any datagrams
// on the way.
type subnet struct {
	f     *fabric.Fabric
	start fabric.End
	// silent are nodes that do not answer, deaf are ports whose PortInfo is
	// not answered.
	silent map[fabric.NodeID]bool
	deaf   map[fabric.End]bool
	skip   map[fabric.NodeID]bool // of reach
}

var errSilent = errors.New("silent")

// discover walks until nothing is left to ask.
func (s *subnet) discover(t testing.TB) (*fabric.Fabric, []fabric.Fault) {
	t.Helper()
	w := newWalk()
	for q, ok := w.take(); ok; q, ok = w.take() {
		d, err := s.answer(q)
		if err == nil {
			err = w.answered(q, d)
		}
		if err != nil {
			w.unanswered(q, err)
		}
	}
	v := w.view()
	return v.Fabric, v.Faults
}

// follow goes along a path and returns the port that the last step comes in by.
func (s *subnet) follow(path []uint8) (fabric.End, error) {
	at := s.start
	for i, port := range path {
		if s.silent[at.Node] || i > 0 && s.f.Node(at.Node).Kind != fabric.Switch {
			return at, errSilent
		}
		peer, ok := s.f.Peer(fabric.End{Node: at.Node, Port: uint16(port)})
		if !ok {
			return at, errSilent
		}
		at = peer
	}
	if s.silent[at.Node] {
		return at, errSilent
	}
	return at, nil
}

func (s *subnet) answer(q question) (*mad.Datagram, error) {
	at, err := s.follow(q.path)
	if err != nil {
		return nil, err
	}
	var d mad.Datagram
	d.SetHeader(mad.Header{Class: mad.ClassDirected, ClassVersion: 1, Method: mad.MethodGetResp, Attr: q.attr, Modifier: q.modifier})
	a, err := s.attribute(at, q)
	if err != nil {
		return nil, err
	}
	a.AppendTo(d.Data()[:0])
	return &d, nil
}

func (s *subnet) attribute(at fabric.End, q question) (mad.Attribute, error) {
	n := s.f.Node(at.Node)
	switch q.attr {
	case mad.AttrNodeInfo:
		return mad.NodeInfo{
			NodeType: typeOf(n.Kind), NumPorts: uint8(n.NumPorts), NodeGUID: n.GUID, SystemImageGUID: n.SystemGUID,
			PortGUID: s.portOf(at, n).GUID, DeviceID: uint16(n.DeviceID), VendorID: n.VendorID, LocalPortNum: uint8(at.Port),
		}, nil
	case mad.AttrNodeDescription:
		return mad.NewNodeDescription(n.Name), nil
	case mad.AttrSwitchInfo:
		return mad.SwitchInfo{EnhancedPort0: n.EnhancedPort0, MulticastFDBCap: uint16(max(n.MulticastCap, 0))}, nil
	case mad.AttrPortInfo:
		return s.portInfo(fabric.End{Node: at.Node, Port: uint16(q.modifier)})
	default:
		return nil, errSilent
	}
}

// portOf is what a node tells of itself: a switch of its port 0.
func (s *subnet) portOf(at fabric.End, n fabric.Node) fabric.Port {
	if n.Kind == fabric.Switch {
		at.Port = 0
	}
	return s.f.Port(at)
}

func (s *subnet) portInfo(e fabric.End) (mad.Attribute, error) {
	if s.deaf[e] {
		return nil, errSilent
	}
	port := s.f.Port(e)
	info := mad.PortInfo{LID: port.LID, LMC: port.LMC, PortState: mad.PortDown, LinkWidthActive: 2, LinkSpeedActive: 4}
	if _, ok := s.f.Peer(e); ok || e.Port == 0 {
		info.PortState = mad.PortActive
	}
	return info, nil
}

func typeOf(k fabric.Kind) mad.NodeType {
	switch k {
	case fabric.Switch:
		return mad.NodeSwitch
	case fabric.Router:
		return mad.NodeRouter
	default:
		return mad.NodeCA
	}
}

// contents tells all nodes and links, by GUID, but those that a walk from
// start cannot see where one is given.
func contents(f *fabric.Fabric, start *subnet) []string {
	var list []string
	for id := range fabric.NodeID(f.NumNodes()) {
		if start != nil && start.skip[id] {
			continue
		}
		n := f.Node(id)
		list = append(list, fmt.Sprintf("%v %q %v %d %v %d", n.GUID, n.Name, n.Kind, n.NumPorts, n.EnhancedPort0, max(n.MulticastCap, 0)))
		for e, peer := range f.Ports(id) {
			if start == nil || !start.skip[peer.Node] && (start.asks(e) || start.asks(peer)) {
				list = append(list, fmt.Sprintf("%v:%d %v:%d %+v", n.GUID, e.Port, f.Node(peer.Node).GUID, peer.Port, f.Port(e).PortInfo))
			}
		}
	}
	slices.Sort(list)
	return list
}

// asks tells whether a walk asks who is behind a port: each of a switch, and
// the one of the node where it begins.
func (s *subnet) asks(e fabric.End) bool {
	return s.f.Node(e.Node).Kind == fabric.Switch || e == s.start
}

// reach notes in skip all nodes but those that can be reached from the start
// without passing a silent one.
func (s *subnet) reach() {
	s.skip = map[fabric.NodeID]bool{}
	for id := range fabric.NodeID(s.f.NumNodes()) {
		s.skip[id] = true
	}
	list := []fabric.NodeID{s.start.Node}
	for len(list) > 0 {
		id := list[0]
		list = list[1:]
		if !s.skip[id] || s.silent[id] {
			continue
		}
		s.skip[id] = false
		for e, peer := range s.f.Ports(id) {
			if s.asks(e) {
				list = append(list, peer.Node)
			}
		}
	}
}

func TestWalkFindsAll(t *testing.T) {
	for _, spec := range []string{"fat-tree:k=4", "torus:3x3x3,e=2", "dragonfly:a=4,p=2,h=2", "hypercube:d=4,e=1"} {
		f, err := topology.Generate(spec)
		if err != nil {
			t.Fatal(err)
		}
		s := &subnet{f: f, start: f.EndPorts()[0]}
		got, faults := s.discover(t)
		if diff := cmp.Diff(contents(f, nil), contents(got, nil)); diff != "" || len(fabric.Errors(faults)) > 0 {
			t.Errorf("%s: faults %v (-want +got):\n%s", spec, faults, diff)
		}
	}
}

// TestWalkIsPartial takes random subnets, with parallel cables, cables from a
// switch to itself, adapters on several switches, and silent nodes. What is not
// behind a silent node is found, and each cable to a silent node is named.
func TestWalkIsPartial(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSubnet(t)
		got, faults := s.discover(discard{})
		s.reach()
		if diff := cmp.Diff(contents(s.f, s), contents(got, nil)); diff != "" {
			t.Fatalf("(-want +got):\n%s", diff)
		}
		want := 0
		for id := range fabric.NodeID(s.f.NumNodes()) {
			for e, peer := range s.f.Ports(id) {
				if !s.skip[id] && s.silent[peer.Node] && s.asks(e) {
					want++
				}
			}
		}
		if n := count(faults, fabric.FaultUnreachable); n != want {
			t.Fatalf("%d ports are said to lead to nobody, want %d: %v", n, want, faults)
		}
	})
}

// discard is a testing.TB for a helper that cannot fail.
type discard struct{ testing.TB }

func (discard) Helper() {}

func drawSubnet(t *rapid.T) *subnet {
	const ports = 6
	var b fabric.Builder
	var free []fabric.End
	add := func(kind fabric.Kind, n int) {
		for range n {
			guid := ib.GUID(0x1000 + 0x10*uint64(len(free)))
			id := b.AddNode(fabric.Node{GUID: guid, Name: fmt.Sprint("n", guid), Kind: kind, NumPorts: ports}, fabric.Place{})
			for p := range uint16(ports) {
				free = append(free, fabric.End{Node: id, Port: p + 1})
				if kind != fabric.Switch {
					b.SetPort(free[len(free)-1], fabric.PortInfo{GUID: guid + ib.GUID(p) + 1, LID: ib.LID(len(free))}, fabric.Place{})
				}
			}
		}
	}
	add(fabric.Adapter, rapid.IntRange(1, 4).Draw(t, "adapters"))
	add(fabric.Switch, rapid.IntRange(1, 6).Draw(t, "switches"))
	add(fabric.Router, rapid.IntRange(0, 1).Draw(t, "routers"))
	free = rapid.Permutation(free).Draw(t, "ports")
	for range rapid.IntRange(1, len(free)/2).Draw(t, "cables") {
		b.Cable(free[0], free[1], ib.LinkRate{Width: ib.Width4x, Speed: ib.QDR}, fabric.Place{})
		free = free[2:]
	}
	f, _ := b.Build()
	s := &subnet{f: f, silent: map[fabric.NodeID]bool{}}
	s.start = fabric.End{Node: fabric.NodeID(rapid.IntRange(0, f.NumNodes()-1).Draw(t, "start"))}
	if f.Node(s.start.Node).Kind != fabric.Switch {
		s.start.Port = uint16(rapid.IntRange(1, ports).Draw(t, "start port"))
	}
	for id := range fabric.NodeID(f.NumNodes()) {
		s.silent[id] = id != s.start.Node && rapid.IntRange(0, 5).Draw(t, "silent") == 0
	}
	return s
}

func count(faults []fabric.Fault, kind fabric.FaultKind) (n int) {
	for _, f := range faults {
		if f.Kind == kind {
			n++
		}
	}
	return n
}

// line is an adapter and switches in a row, each named by its distance from
// the adapter.
func line(t *testing.T, switches int) *subnet {
	t.Helper()
	var b fabric.Builder
	last := fabric.End{Node: b.AddNode(fabric.Node{GUID: 1, Name: "n0", Kind: fabric.Adapter, NumPorts: 2}, fabric.Place{}), Port: 1}
	b.SetPort(last, fabric.PortInfo{GUID: 2}, fabric.Place{})
	first := last
	for i := range switches {
		n := fabric.Node{GUID: ib.GUID(16 * (i + 1)), Name: fmt.Sprint("n", i+1), Kind: fabric.Switch, NumPorts: 4, MulticastCap: 64}
		id := b.AddNode(n, fabric.Place{})
		b.Cable(last, fabric.End{Node: id, Port: 1}, ib.LinkRate{Width: ib.Width4x, Speed: ib.QDR}, fabric.Place{})
		last = fabric.End{Node: id, Port: 2}
	}
	f, _ := b.Build()
	return &subnet{f: f, start: first}
}

func TestWalkHopLimit(t *testing.T) {
	for _, switches := range []int{63, 64, 70} {
		got, faults := line(t, switches).discover(t)
		want, limits := min(switches, 63)+1, 0
		if switches > 63 {
			limits = 1
		}
		if got.NumNodes() != want || count(faults, fabric.FaultLimit) != limits {
			t.Errorf("%d switches: %d nodes found, want %d; %v", switches, got.NumNodes(), want, faults)
		}
	}
}

func TestWalkNamesPaths(t *testing.T) {
	s := line(t, 4)
	s.silent = map[fabric.NodeID]bool{3: true}
	_, faults := s.discover(t)
	want := "error: path 0,1,2,2, behind n2 (0x0000000000000020) port 2: no NodeInfo: silent"
	if !slices.ContainsFunc(faults, func(f fabric.Fault) bool { return f.String() == want }) {
		t.Errorf("faults %v, want %s", faults, want)
	}
	s = line(t, 4)
	s.deaf = map[fabric.End]bool{{Node: 2, Port: 2}: true}
	got, faults := s.discover(t)
	want = "error: n2 (0x0000000000000020) (path 0,1,2): no PortInfo of port 2: silent"
	if !slices.ContainsFunc(faults, func(f fabric.Fault) bool { return f.String() == want }) || got.NumNodes() != 3 {
		t.Errorf("faults %v, want %s", faults, want)
	}
}

// TestWalkConflict lets a node's GUID appear at two places.
func TestWalkConflict(t *testing.T) {
	var b fabric.Builder
	add := func(guid ib.GUID, kind fabric.Kind, ports uint16) fabric.NodeID {
		return b.AddNode(fabric.Node{GUID: guid, Kind: kind, NumPorts: ports}, fabric.Place{})
	}
	sw, one, two := add(1, fabric.Switch, 4), add(2, fabric.Adapter, 1), add(3, fabric.Adapter, 1)
	b.Cable(fabric.End{Node: sw, Port: 1}, fabric.End{Node: one, Port: 1}, ib.LinkRate{}, fabric.Place{})
	b.Cable(fabric.End{Node: sw, Port: 2}, fabric.End{Node: two, Port: 1}, ib.LinkRate{}, fabric.Place{})
	f, _ := b.Build()
	w := newWalk()
	s := &subnet{f: f, start: fabric.End{Node: sw}}
	for q, ok := w.take(); ok; q, ok = w.take() {
		d, err := s.answer(q)
		if err != nil {
			t.Fatal(err)
		}
		if q.attr == mad.AttrNodeInfo && d.Data()[19] == 3 {
			d.Data()[19] = 2
		}
		if err := w.answered(q, d); err != nil {
			t.Fatal(err)
		}
	}
	v := w.view()
	got, faults := v.Fabric, v.Faults
	if got.NumNodes() != 2 || count(faults, fabric.FaultPortConflict) != 1 {
		t.Errorf("%d nodes, faults %v", got.NumNodes(), faults)
	}
}

func TestWalkRefusesStatus(t *testing.T) {
	var d mad.Datagram
	d.SetHeader(mad.Header{Class: mad.ClassDirected, Method: mad.MethodGetResp, Attr: mad.AttrNodeInfo, Status: mad.StatusBusy})
	if err := newWalk().answered(question{attr: mad.AttrNodeInfo}, &d); err == nil || !strings.Contains(err.Error(), "busy") {
		t.Errorf("%v", err)
	}
}

func TestWalkNamesPKeyTables(t *testing.T) {
	w := newWalk()
	w.unanswered(question{attr: mad.AttrPKeyTable, modifier: 1, port: 2, path: []uint8{3}, node: &Node{Path: []uint8{3}}}, errSilent)
	if len(w.faults) != 1 || !strings.HasSuffix(w.faults[0].Text, "(path 0,3): no P_KeyTable of port 2, block 1: silent") {
		t.Errorf("%v", w.faults)
	}
}

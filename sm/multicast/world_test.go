package multicast_test

import (
	"fmt"
	"testing"

	"heddle/fabric"
	"heddle/fabric/topology"
	"heddle/ib"
	"heddle/mad"
	"heddle/route"
	engines "heddle/route/multicast"
	"heddle/sm/group"
	"heddle/sm/multicast"
	"heddle/sm/plan"
	"heddle/sm/subnet"
)

// fataler is a test of testing or of rapid.
type fataler interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

func generate(t fataler, text string) *fabric.Fabric {
	t.Helper()
	f, err := topology.Generate(text)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// rebuilt is a fabric of what is alive, with numbers of its own.
func rebuilt(f *fabric.Fabric) *fabric.Fabric {
	var b fabric.Builder
	id := make([]fabric.NodeID, f.NumNodes())
	for i := f.NumNodes() - 1; i >= 0; i-- { // in another order
		from := fabric.NodeID(i)
		if !f.NodeUp(from) {
			continue
		}
		id[i] = b.AddNode(f.Node(from), fabric.Place{})
		for p := range f.Node(from).NumPorts + 1 {
			b.SetPort(fabric.End{Node: id[i], Port: p}, f.Port(fabric.End{Node: from, Port: p}).PortInfo, fabric.Place{})
		}
	}
	for i := range f.NumLinks() {
		if l := f.Link(fabric.LinkID(i)); f.LinkUp(fabric.LinkID(i)) {
			b.Cable(fabric.End{Node: id[l.A.Node], Port: l.A.Port}, fabric.End{Node: id[l.B.Node], Port: l.B.Port}, l.Rate, fabric.Place{})
		}
	}
	g, _ := b.Build()
	return g
}

// viewOf is what a sweep would see of a fabric.
func viewOf(f *fabric.Fabric) *subnet.View {
	v := &subnet.View{Fabric: f}
	for i := range f.NumNodes() {
		told := f.Node(fabric.NodeID(i))
		n := &subnet.Node{ID: fabric.NodeID(i), Ports: make([]subnet.Port, told.NumPorts+1)}
		n.Info.NodeGUID, n.Info.NodeType = told.GUID, mad.NodeCA
		if told.Kind == fabric.Switch {
			n.Info.NodeType = mad.NodeSwitch
		}
		v.Nodes = append(v.Nodes, n)
	}
	return v
}

// engine is one of route/multicast, as a Router takes it.
func engine(t fataler, name string, effort int) multicast.Engine {
	t.Helper()
	e, err := engines.Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	return multicast.Engine{Name: name, New: func(g *route.Graph, h *route.Hops) route.Router {
		return e.New(g, h, engines.Options{Effort: effort})
	}}
}

// source is groups by MLID.
type source map[ib.MLID]group.Ports

func (s source) Ports(mlid ib.MLID, into group.Ports) group.Ports {
	into.Receivers = append(into.Receivers, s[mlid].Receivers...)
	into.Senders = append(into.Senders, s[mlid].Senders...)
	return into
}

// table is a switch's multicast table, by attribute modifier.
type table map[uint32]mad.MulticastForwarding

// world is a router and the switches that it writes.
type world struct {
	fataler
	r      *multicast.Router
	fabric *fabric.Fabric // as the last view
	active *fabric.Fabric // of the links that carry data
	groups source
	held   *plan.Held
	real   map[ib.GUID]table
	report multicast.Report
	sets   int
	cells  int
	deaf   bool // switches do not tell what they hold
}

func newWorld(t fataler, f *fabric.Fabric, list ...multicast.Engine) *world {
	t.Helper()
	r, err := multicast.New(multicast.Config{Engines: list, Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	w := &world{fataler: t, r: r, groups: source{}, held: plan.NewHeld(), real: map[ib.GUID]table{}}
	w.see(f)
	return w
}

// see lets the router see a fabric.
func (w *world) see(f *fabric.Fabric) {
	w.Helper()
	w.fabric, w.active = f, f
	report, err := w.r.Rebase(viewOf(f))
	if err != nil {
		w.Fatal(err)
	}
	w.report = report
}

// have sets the ports of an MLID, numbers of hosts, and updates.
func (w *world) have(mlid ib.MLID, receivers, senders []int) {
	w.groups[mlid] = group.Ports{Receivers: w.gids(receivers), Senders: w.gids(senders)}
	w.report = w.r.Update(group.Batch{Changed: []ib.MLID{mlid}}, w.groups)
}

func (w *world) gids(hosts []int) (list []ib.GID) {
	for _, h := range hosts {
		list = append(list, ib.NewGID(ib.DefaultPrefix, hostGUID(h)))
	}
	return list
}

// hostGUID is the port of a generated host.
func hostGUID(h int) ib.GUID { return ib.GUID(0x0200_0002_0000_0001) + ib.GUID(h)*16 }

// read reads what the router does not know.
func (w *world) read() {
	if w.deaf {
		return
	}
	for _, b := range w.r.Unknown(w.held) {
		w.answer(b.Node.GUID(), b.Modifier)
	}
}

func (w *world) answer(guid ib.GUID, modifier uint32) {
	w.held.Answered(guid, mad.AttrMulticastForwarding, modifier, w.real[guid][modifier].AppendTo(nil))
}

// write writes one SMP.
func (w *world) write(s *plan.SMP) {
	if s.Attr != mad.AttrMulticastForwarding {
		return
	}
	block, err := mad.ParseMulticastForwarding(s.Data[:])
	if err != nil {
		w.Fatal(err)
	}
	guid := s.Node.GUID()
	if w.real[guid] == nil {
		w.real[guid] = table{}
	}
	w.real[guid][s.Modifier] = block
	w.answer(guid, s.Modifier)
}

// program does all that is planned.
func (w *world) program() multicast.Plan {
	w.Helper()
	w.read()
	p := w.r.Plan(w.held)
	for _, stage := range p.Stages {
		for i := range stage.SMPs {
			w.write(&stage.SMPs[i])
		}
	}
	w.sets, w.cells = w.sets+p.Sets, w.cells+p.Cells
	if list := w.r.Unsettled(w.held); len(list) > 0 {
		w.Fatalf("after the plan %v are not settled", list)
	}
	return p
}

// entry is a switch's ports for an MLID, a bit for each.
func (w *world) entry(guid ib.GUID, mlid ib.MLID) route.PortSet {
	var ports route.PortSet
	i := int(mlid - ib.FirstMLID)
	for position := range uint8(16) {
		mask := w.real[guid][mad.MulticastModifier(uint16(i/32), position)][i%32]
		for bit := range uint16(16) {
			if mask>>bit&1 != 0 {
				ports.Add(uint16(position)*16 + bit)
			}
		}
	}
	return ports
}

// walk sends a packet from a port. Its result is the way to each host's port
// that gets it: the switches and ports that it left by. The error is of a packet
// that comes to a switch or a host twice.
func (w *world) walk(mlid ib.MLID, from fabric.End) (map[ib.GUID]string, error) {
	type arrival struct {
		at  fabric.End
		way string
	}
	f := w.active
	got, seen := map[ib.GUID]string{}, map[fabric.NodeID]bool{}
	start, ok := f.Leaf(from)
	if !ok {
		return got, nil
	}
	for queue := []arrival{{start, ""}}; len(queue) > 0; queue = queue[1:] {
		a := queue[0]
		n := f.Node(a.at.Node)
		if seen[a.at.Node] {
			return got, fmt.Errorf("%s gets it twice: %s", n.Label(), a.way)
		}
		seen[a.at.Node] = true
		for port := range w.entry(n.GUID, mlid).All() {
			peer, ok := f.Peer(fabric.End{Node: a.at.Node, Port: port})
			if port == 0 {
				peer, ok = fabric.End{Node: a.at.Node}, true
			}
			if port == a.at.Port || !ok {
				continue
			}
			way := fmt.Sprintf("%s %v:%d", a.way, n.GUID, port)
			if f.Node(peer.Node).Kind == fabric.Switch && port > 0 {
				queue = append(queue, arrival{peer, way})
				continue
			}
			guid := f.Port(peer).GUID
			if _, twice := got[guid]; twice {
				return got, fmt.Errorf("%v gets it twice: %s", guid, way)
			}
			got[guid] = way
		}
	}
	return got, nil
}

// end is the port of a GUID, ok if it is there.
func (w *world) end(guid ib.GUID) (fabric.End, bool) { return w.active.ByPortGUID(guid) }

var _ fataler = (*testing.T)(nil)

package admin_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"heddle/fabric"
	"heddle/fabric/topology"
	"heddle/ib"
	"heddle/mad"
	"heddle/route"
	"heddle/route/unicast"
	"heddle/sm/admin"
	"heddle/sm/group"
)

// epoch is when tests begin.
var epoch = time.Unix(1_800_000_000, 0)

// subnetOf is a generated fabric, brought up: LIDs in the order of end ports,
// tables by minhop. lmc is that of adapters.
func subnetOf(t testing.TB, spec string, lmc uint8) admin.Subnet {
	t.Helper()
	f := addressed(t, spec, lmc)
	s := admin.Subnet{Lifetime: 18, Tables: &agents{held: map[admin.PortTable][64]byte{}}}
	tables := tablesOf(t, f)
	for id := range fabric.NodeID(f.NumNodes()) {
		s.Nodes = append(s.Nodes, nodeOf(f, id))
	}
	for v, table := range tables.Tables {
		s.Nodes[tables.Graph.Node(int32(v))].LFT = table
	}
	first := f.Port(f.EndPorts()[0])
	s.Managers = []mad.SMInfoRecord{{LID: first.LID, Info: mad.SMInfo{GUID: first.GUID, SMKey: 7, Priority: 5, SMState: mad.SMMaster}}}
	return s
}

// addressed is the fabric with LIDs.
func addressed(t testing.TB, spec string, lmc uint8) *fabric.Fabric {
	t.Helper()
	f, err := topology.Generate(spec)
	if err != nil {
		t.Fatal(err)
	}
	var b fabric.Builder
	for id := range fabric.NodeID(f.NumNodes()) {
		b.AddNode(f.Node(id), fabric.Place{})
	}
	lid := ib.LID(1) << lmc
	for _, id := range f.Switches() {
		e := fabric.End{Node: id}
		b.SetPort(e, fabric.PortInfo{GUID: f.Node(id).GUID, LID: lid}, fabric.Place{})
		lid++
	}
	lid += 1<<lmc - 1
	lid &^= 1<<lmc - 1
	for _, e := range f.EndPorts() {
		if f.Node(e.Node).Kind != fabric.Switch {
			b.SetPort(e, fabric.PortInfo{GUID: f.Port(e).GUID, LID: lid, LMC: lmc}, fabric.Place{})
			lid += 1 << lmc
		}
	}
	for id := range fabric.LinkID(f.NumLinks()) {
		l := f.Link(id)
		b.Cable(l.A, l.B, ib.LinkRate{Width: ib.Width4x, Speed: ib.HDR}, fabric.Place{})
	}
	f, faults := b.Build()
	if errs := fabric.Errors(faults); len(errs) > 0 {
		t.Fatal(errs)
	}
	return f
}

func tablesOf(t testing.TB, f *fabric.Fabric) *route.LFTs {
	t.Helper()
	g := route.NewGraph(f, route.Selection{})
	h, err := route.NewHops(g, 1)
	if err != nil {
		t.Fatal(err)
	}
	lids, err := route.LIDsOf(f)
	if err != nil {
		t.Fatal(err)
	}
	e, err := unicast.Lookup("minhop")
	if err != nil {
		t.Fatal(err)
	}
	tables, err := e.Route(g, h, lids, unicast.Options{Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	return tables
}

func nodeOf(f *fabric.Fabric, id fabric.NodeID) admin.Node {
	told := f.Node(id)
	n := admin.Node{
		Info:        mad.NodeInfo{BaseVersion: 1, ClassVersion: 1, NodeType: mad.NodeCA, NumPorts: uint8(told.NumPorts), NodeGUID: told.GUID, LocalPortNum: 1},
		Description: mad.NewNodeDescription(told.Name),
		Ports:       make([]admin.Port, told.NumPorts+1),
	}
	if told.Kind == fabric.Switch {
		n.Info.NodeType = mad.NodeSwitch
		n.Switch = &mad.SwitchInfo{LinearFDBCap: 49152, MulticastFDBCap: 1024}
		n.Ports[0] = portOf(f, fabric.End{Node: id})
		n.Ports[0].Rate = 0 // it has no link
	}
	for own, peer := range f.Ports(id) {
		p := portOf(f, own)
		p.Linked, p.Peer, p.PeerPort = true, int32(peer.Node), uint8(peer.Port)
		n.Ports[own.Port] = p
	}
	return n
}

func portOf(f *fabric.Fabric, e fabric.End) admin.Port {
	told := f.Port(e)
	return admin.Port{
		Known: true, GUID: told.GUID, Rate: ib.Rate200,
		Info: mad.PortInfo{
			MKey: 9, LID: told.LID, LMC: told.LMC, LocalPortNum: uint8(e.Port), PortState: mad.PortActive,
			NeighborMTU: ib.MTU4096, MTUCap: ib.MTU4096, GidPrefix: ib.DefaultPrefix,
			VLArbitrationLowCap: 32, VLArbitrationHighCap: 32, GUIDCap: 16,
		},
	}
}

// agents are those of the nodes: each table is empty until somebody writes it,
// and known from when it was read.
type agents struct {
	mu    sync.Mutex
	held  map[admin.PortTable][64]byte
	reads int
	// deaf do not answer, simple ones have no tables; by the index of the node.
	deaf, simple map[int32]bool
}

func (a *agents) Table(t admin.PortTable) (data [64]byte, known, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	data, known = a.held[t]
	return data, known, known && !a.simple[t.Node]
}

func (a *agents) Read(list []admin.PortTable) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.reads += len(list)
	for _, t := range list {
		if !a.deaf[t.Node] {
			a.held[t] = [64]byte{}
		}
	}
}

func (a *agents) Write(t admin.PortTable, data [64]byte) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.deaf[t.Node] {
		return false
	}
	a.held[t] = data
	return true
}

// server is one that answers, with what is needed to ask.
type server struct {
	*admin.Server
	subnet admin.Subnet
	now    time.Time
	ends   []admin.Port // that have an address, adapters' first, in the order of their LIDs
	tid    uint64
}

func serverOf(t testing.TB, s admin.Subnet, c admin.Config) *server {
	t.Helper()
	if c.Groups == nil {
		table, err := group.New(group.Config{})
		if err != nil {
			t.Fatal(err)
		}
		c.Groups = table
	}
	srv, err := admin.New(c)
	if err != nil {
		t.Fatal(err)
	}
	x := &server{Server: srv, subnet: s, now: epoch}
	x.Update(x.now, snapshotOf(t, s))
	for _, kind := range []mad.NodeType{mad.NodeCA, mad.NodeSwitch} {
		for i := range s.Nodes {
			for _, p := range s.Nodes[i].Ports {
				if s.Nodes[i].Info.NodeType == kind && p.Info.LID != 0 {
					x.ends = append(x.ends, p)
				}
			}
		}
	}
	return x
}

func snapshotOf(t testing.TB, s admin.Subnet) *admin.Snapshot {
	t.Helper()
	snapshot, faults := admin.NewSnapshot(s)
	for _, err := range faults {
		t.Error(err)
	}
	return snapshot
}

// question is a request.
type question struct {
	from   ib.LID // that of the first port where 0
	method mad.Method
	attr   mad.AttrID
	mask   mad.ComponentMask
	data   mad.Attribute
	key    mad.SMKey
	mod    uint32
}

// message is the request as it travels.
func (q question) message(tid uint64) []byte {
	b := mad.Header{Class: mad.ClassSA, ClassVersion: 2, Method: q.method, TID: tid, Attr: q.attr, Modifier: q.mod}.AppendTo(nil)
	b = mad.SAHeader{SMKey: q.key, ComponentMask: q.mask}.AppendTo(b)
	if q.data != nil {
		b = q.data.AppendTo(b)
	}
	if len(b) < mad.Size {
		b = append(b, make([]byte, mad.Size-len(b))...)
	}
	return b
}

// reply is an answer.
type reply struct {
	status mad.Status
	head   mad.Header
	sa     mad.SAHeader
	data   []byte
}

func (s *server) ask(t testing.TB, q question) reply {
	t.Helper()
	s.tid++
	return s.send(t, q, s.tid)
}

func (s *server) send(t testing.TB, q question, tid uint64) reply {
	t.Helper()
	if q.from == 0 {
		q.from = s.ends[0].Info.LID
	}
	b, ok := s.Request(s.now, admin.Requester{LID: q.from, QPN: 1}, q.message(tid))
	if !ok {
		t.Fatalf("no answer to %+v", q)
	}
	r, err := parseReply(b)
	if err != nil {
		t.Fatal(err)
	}
	if r.head.TID != tid {
		t.Errorf("answer has TID %d, want %d", r.head.TID, tid)
	}
	return r
}

// parseReply reads an answer and checks its form: a datagram, or a message by
// RMPP of whole records.
func parseReply(b []byte) (reply, error) {
	h, err := mad.ParseHeader(b)
	if err != nil {
		return reply{}, err
	}
	sa, err := mad.ParseSAHeader(b[24:])
	if err != nil {
		return reply{}, err
	}
	r := reply{h.Status, h, sa, b[56:]}
	size := int(sa.AttributeOffset) * 8
	switch long := sa.RMPP.Flags&mad.RMPPActive != 0; {
	case !h.Method.IsResponse():
		return r, fmt.Errorf("answer of method %v", h.Method)
	case !long && len(b) != mad.Size:
		return r, fmt.Errorf("datagram of %d bytes", len(b))
	case long && h.Status != mad.StatusOK:
		return r, fmt.Errorf("status %v by RMPP", h.Status)
	case long && len(r.data) > 0 && (size == 0 || len(r.data)%size != 0):
		return r, fmt.Errorf("%d bytes of records of %d", len(r.data), size)
	}
	return r, nil
}

// get asks for one record, table for all.
func get[R mad.Record](t testing.TB, s *server, q question, parse func([]byte) (R, error)) (R, mad.Status) {
	t.Helper()
	q.method = mad.MethodGet
	r := s.ask(t, q)
	record, err := parse(r.data)
	if err != nil {
		t.Fatal(err)
	}
	return record, r.status
}

func table[R mad.Record](t testing.TB, s *server, q question, parse func([]byte) (R, error)) []R {
	t.Helper()
	q.method = mad.MethodGetTable
	r := s.ask(t, q)
	if r.status != mad.StatusOK {
		t.Fatalf("%s %v: status %v", q.attr.Name(mad.ClassSA), q.mask, r.status)
	}
	var all []R
	for record, err := range mad.Table(r.data, r.sa.AttributeOffset, parse) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, record)
	}
	return all
}

// gid is the first GID of a port.
func gid(p admin.Port) ib.GID { return ib.NewGID(ib.DefaultPrefix, p.GUID) }

package emu

import (
	"fmt"
	"math/rand/v2"
	"time"

	"heddle/fabric"
	"heddle/ib"
	"heddle/mad"
)

// Subnet is an emulated subnet. Its methods must not be called by two
// goroutines at once.
type Subnet struct {
	fabric *fabric.Fabric
	cfg    Config
	nodes  []node
	clients
	repeated

	now    time.Duration
	seq    uint64
	events events
	free   *Packet
	random *rand.Rand

	trouble *Trouble // of all links that have none of their own; nil for none
	traps   traps
	stats   Stats
	data    plane
}

// Stats counts what became of the management datagrams of a subnet.
type Stats struct {
	// Sent counts those that clients and agents made, Delivered those that
	// came to a client or an agent; the others were Lost.
	Sent, Delivered, Lost uint64
	// SMPs counts the requests that agents of subnet management answered.
	SMPs uint64
	// MFTSets counts those among them that set a block of a multicast
	// forwarding table, the last of them at LastMFTSet.
	MFTSets    uint64
	LastMFTSet time.Duration
	// LFTSets counts those that set a block of a linear forwarding table.
	LFTSets uint64
	// QueueFull counts the SMPs that were dropped at an agent's full queue.
	QueueFull uint64
	// Unclaimed counts the packets for a client that nobody attached for.
	Unclaimed uint64
	// Traps counts the traps sent, repeats with them.
	Traps uint64
}

type node struct {
	kind     fabric.Kind
	up       bool
	numPorts uint16
	guid     ib.GUID
	ports    []port      // a switch's from 0 on, an adapter's port 0 is not used
	sw       *switchInfo // nil for adapters
	agent    *agent      // nil while it answers at once
}

type port struct {
	info     mad.PortInfo
	peer     fabric.End
	link     fabric.LinkID
	guid     ib.GUID
	trouble  *Trouble
	counters counters
	host     *Host
	tables   *tables       // nil while all tables are as they were at the start
	mkeyEnd  time.Duration // when the lease of its M_Key ends, 0 for never
}

// linkUp tells whether the port has a trained link.
func (x *port) linkUp() bool { return x.info.PortPhysicalState == mad.PhysLinkUp }

// New makes the subnet of a fabric as it is after power-on: links trained,
// ports in Init, tables empty. It refuses a fabric with a node of more than
// fabric.MaxPorts ports, which no table can describe.
func New(f *fabric.Fabric, cfg Config) (*Subnet, error) {
	cfg, err := cfg.filled()
	if err != nil {
		return nil, fmt.Errorf("emulated subnet: %w", err)
	}
	s := &Subnet{
		fabric: f, cfg: cfg, nodes: make([]node, f.NumNodes()),
		random: rand.New(rand.NewPCG(cfg.Seed, 0x68656464)),
	}
	s.data.s = s
	s.clients.init()
	s.repeated.init()
	for id := range s.nodes {
		if err := s.makeNode(fabric.NodeID(id)); err != nil {
			return nil, fmt.Errorf("emulated subnet: %w", err)
		}
	}
	if cfg.Wire != nil {
		s.data.wires = newWires(&s.data, *cfg.Wire)
	}
	for id := range f.NumLinks() {
		if f.LinkUp(fabric.LinkID(id)) {
			s.connect(fabric.LinkID(id))
		}
	}
	return s, nil
}

// Fabric is what the subnet was made from.
func (s *Subnet) Fabric() *fabric.Fabric { return s.fabric }

// Data tells what became of data packets so far.
func (s *Subnet) Data() Data { return s.data.stats }

// Stats tells what happened to management datagrams so far.
func (s *Subnet) Stats() Stats { return s.stats }

func (s *Subnet) isSwitch(id fabric.NodeID) bool { return s.nodes[id].sw != nil }

// portOf is a port that exists.
func (s *Subnet) portOf(e fabric.End) *port { return &s.nodes[e.Node].ports[e.Port] }

// has tells whether a node has a port.
func (s *Subnet) has(e fabric.End) bool {
	return e.Node >= 0 && int(e.Node) < len(s.nodes) && int(e.Port) < len(s.nodes[e.Node].ports) &&
		(e.Port > 0 || s.isSwitch(e.Node))
}

func (s *Subnet) makeNode(id fabric.NodeID) error {
	n := s.fabric.Node(id)
	if n.NumPorts > fabric.MaxPorts {
		return fmt.Errorf("%s has %d ports, a node has at most %d", n.Label(), n.NumPorts, fabric.MaxPorts)
	}
	s.nodes[id] = node{
		kind: n.Kind, up: s.fabric.NodeUp(id), numPorts: n.NumPorts, guid: n.GUID,
		ports: make([]port, n.NumPorts+1),
	}
	if n.Kind == fabric.Switch {
		s.nodes[id].sw = s.newSwitch(n)
	}
	if s.cfg.Agent > 0 {
		s.nodes[id].agent = &agent{service: s.cfg.Agent, limit: s.cfg.Queue}
	}
	for p := range s.nodes[id].ports {
		s.makePort(fabric.End{Node: id, Port: uint16(p)})
	}
	return nil
}

func (s *Subnet) makePort(e fabric.End) {
	x, told := s.portOf(e), s.fabric.Port(e)
	*x = port{link: told.Link, guid: s.portGUID(e), info: s.powerOn(e)}
	if s.cfg.KeepLIDs && s.addressed(e) {
		x.info.LID, x.info.LMC = told.LID, told.LMC
	}
}

// addressed tells whether a port has a LID and keys of its own: an adapter's,
// and port 0 of a switch.
func (s *Subnet) addressed(e fabric.End) bool { return s.isSwitch(e.Node) == (e.Port == 0) }

// portGUID is the GUID of a port; where the fabric does not tell, that of its
// node, plus the port's number for an adapter.
func (s *Subnet) portGUID(e fabric.End) ib.GUID {
	n := &s.nodes[e.Node]
	if n.sw != nil {
		e.Port = 0
	}
	if guid := s.fabric.Port(e).GUID; guid.IsValid() {
		return guid
	}
	if n.sw != nil {
		return n.guid
	}
	return n.guid + ib.GUID(e.Port)
}

// connect plugs a cable in.
func (s *Subnet) connect(id fabric.LinkID) {
	l := s.fabric.Link(id)
	s.portOf(l.A).peer, s.portOf(l.B).peer = l.B, l.A
	s.train(l.A)
	s.train(l.B)
}

// End finds a port by the name of its node: a GUID of a node or a port, the ID
// in its topology file, or its description. An empty name is the first
// adapter. A port of zero is the one that the GUID names, or the first one.
func (s *Subnet) End(name string, portNum uint8) (fabric.End, error) {
	id, err := s.nodeNamed(name)
	if err != nil {
		return fabric.End{}, err
	}
	e := fabric.End{Node: id, Port: uint16(portNum)}
	if portNum == 0 && !s.isSwitch(id) {
		e.Port = s.firstPort(id, name)
	}
	if !s.has(e) {
		return fabric.End{}, fmt.Errorf("%s has no port %d", s.fabric.Node(id).Label(), portNum)
	}
	return e, nil
}

// firstPort is the port that a GUID names, or else the first with a cable.
func (s *Subnet) firstPort(id fabric.NodeID, name string) uint16 {
	if guid, err := ib.ParseGUID(name); err == nil {
		if e, ok := s.fabric.ByPortGUID(guid); ok && e.Node == id {
			return e.Port
		}
	}
	for e := range s.fabric.Ports(id) {
		return e.Port
	}
	return 1
}

func (s *Subnet) nodeNamed(name string) (fabric.NodeID, error) {
	if name == "" {
		if len(s.fabric.Adapters()) == 0 {
			return 0, fmt.Errorf("no adapter in the fabric: %w", ErrNoNode)
		}
		return s.fabric.Adapters()[0], nil
	}
	if id, ok := s.fabric.ByID(name); ok {
		return id, nil
	}
	if ids := s.fabric.ByName(name); len(ids) > 0 {
		return ids[0], nil
	}
	if guid, err := ib.ParseGUID(name); err == nil {
		if id, ok := s.fabric.ByGUID(guid); ok {
			return id, nil
		}
		if e, ok := s.fabric.ByPortGUID(guid); ok {
			return e.Node, nil
		}
	}
	return 0, fmt.Errorf("node %q: %w", name, ErrNoNode)
}

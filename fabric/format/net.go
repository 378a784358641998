package format

import (
	"bytes"
	"io"
	"strings"

	"heddle/fabric"
	"heddle/ib"
)

// dialect is whose netlist is read or written. Both have one grammar: a header
// line for each node, then a line for each of its ports.
//
//	Switch  36 "S-0002c90300001234"  # "leaf 1" enhanced port 0 lid 3 lmc 0
//	[1]     "H-0002c90300005678"[1](2c90300005679)  # "node1 HCA-1" lid 4 4xHDR
type dialect uint8

const (
	discovered dialect = iota // what ibnetdiscover found in a real subnet
	simulated                 // what ibsim shall simulate
)

// netReader reads a netlist.
type netReader struct {
	gatherer
	dialect
	// here is the node whose port lines follow; NoNode outside of a block, and
	// orphan is true where that was said.
	here   fabric.NodeID
	orphan bool
	next   attributes // of the next node
	guids  guidMaker
	names  netNames
	words  []portWord
	// chassis is true in a listing by chassis, which describes the switches of
	// a chassis twice.
	chassis bool
	// rated is true when a port line gave a rate: then all should.
	rated bool
	// cut is true when the end of the file was found missing.
	cut      bool
	defaults rateMasks // of ibsim: what a port has that says nothing
}

// portWord is what a port line says of its cable, kept until all nodes are
// known. There are millions in a large file.
type portWord struct {
	from     fabric.End
	peer     int32 // index in netNames.refs
	line     int32
	peerGUID ib.GUID
	peerPort uint16
	peerLID  ib.LID
	rate     ib.LinkRate
	both     bool // the line speaks for both ends
}

// attributes are the lines before a header.
type attributes struct {
	any            bool
	line           int
	system, port   ib.GUID
	vendor, device uint32
}

func newNetReader(r io.Reader, name string, d dialect) *netReader {
	return &netReader{
		gatherer: newGatherer(r, name), dialect: d, here: fabric.NoNode,
		guids: newGUIDMaker(), names: netNames{byID: map[string]int32{}},
	}
}

func readNet(r io.Reader, name string, d dialect) (*fabric.Fabric, []fabric.Fault, error) {
	n := newNetReader(r, name, d)
	if err := n.each(n.read); err != nil {
		return nil, nil, err
	}
	n.finish()
	f, faults := n.Build()
	return f, faults, nil
}

// read takes one line.
func (n *netReader) read(text []byte) {
	text = bytes.TrimLeft(text, " \t")
	switch {
	case len(text) == 0 || text[0] == '#':
	case len(text) > 1 && text[0] == '[' && isDigit(text[1]):
		n.port(text)
	default:
		n.statement(text)
	}
}

// statement takes a line that begins with a word.
func (n *netReader) statement(text []byte) {
	s := scan{text}
	word := string(s.letters())
	kind := headerKind(word)
	switch {
	case kind != 0 && looksLikeHeader(s.rest):
		n.header(kind, s.rest)
	case len(s.rest) > 0 && (s.rest[0] == '=' || s.rest[0] == '+') && n.attribute(word, s.rest):
	case word == "Chassis", word == "Non" && bytes.HasPrefix(s.rest, []byte("-Chassis")):
		n.chassis, n.here = true, fabric.NoNode
	case word == "Hostname":
	case n.dialect == simulated && n.command(word, s.rest):
	default:
		n.warn(fabric.FaultNoise, "skipped, not a line of a topology: %s", shown(text))
	}
}

func headerKind(word string) fabric.Kind {
	switch word {
	case "Switch":
		return fabric.Switch
	case "Ca", "Hca":
		return fabric.Adapter
	case "Rt", "Router":
		return fabric.Router
	}
	return 0
}

// looksLikeHeader tells a header from a message that begins with such a word.
func looksLikeHeader(rest []byte) bool {
	rest = bytes.TrimLeft(rest, " \t")
	return len(rest) > 0 && isDigit(rest[0]) && bytes.IndexByte(rest, '"') > 0
}

// attribute takes a line such as vendid=0x2c9; false for one that is none.
func (n *netReader) attribute(word string, rest []byte) bool {
	value := scan{rest[1:]}
	text := value.word()
	var ok bool
	switch word {
	case "vendid":
		n.next.vendor, ok = parseUint32(text)
	case "devid":
		n.next.device, ok = parseUint32(text)
	case "sysimgguid":
		n.next.system, ok = parseGUID(text)
	case "switchguid":
		ok = n.guid(fabric.Switch, rest[0], text)
	case "caguid", "hcaguid", "hcaguids":
		ok = n.guid(fabric.Adapter, rest[0], text)
	case "rtguid":
		ok = n.guid(fabric.Router, rest[0], text)
	case "width", "speed", "extspeed":
		return n.dialect == simulated && n.defaults.set(word[0], text)
	default:
		return false
	}
	n.here, n.orphan = fabric.NoNode, false
	n.next.any, n.next.line = true, n.num
	if !ok {
		n.warn(n.brokenKind(fabric.FaultGUID), "%s is %q, which cannot be read", word, shown(text))
	}
	return true
}

func parseUint32(text []byte) (uint32, bool) {
	v, ok := integer(text)
	return uint32(v), ok && v >= 0 && v <= 1<<32-1
}

// guid takes the GUIDs of the next node: 0x2c9(2c9), the second that of its
// port 0. A + adds to the last base, as ibsim does.
func (n *netReader) guid(kind fabric.Kind, sign byte, text []byte) bool {
	s := scan{text}
	word := text
	if i := bytes.IndexByte(text, '('); i >= 0 {
		word, s.rest = text[:i], text[i:]
		port, _ := s.between('(', ')')
		n.next.port, _ = parseGUID(port)
	}
	g, ok := parseGUID(word)
	if ok {
		n.guids.set(kind, g, sign == '+')
	}
	return ok
}

// header begins the block of a node.
func (n *netReader) header(kind fabric.Kind, text []byte) {
	attr := n.next
	n.here, n.orphan, n.next = fabric.NoNode, false, attributes{}
	ports, id, rest, fault := parseHeader(text)
	if fault != "" {
		n.warn(n.brokenKind(fabric.FaultSyntax), "a header %s: skipped", fault)
		return
	}
	if ports > 1<<16-1 {
		n.warn(fabric.FaultLimit, "%s has %d ports: skipped", shown(id), ports)
		return
	}
	c := parseComment(rest)
	if c.open {
		n.warn(n.brokenKind(fabric.FaultSyntax), "no quote ends the name %s", shown(c.name))
	}
	node := fabric.Node{
		ID: string(id), Kind: kind, NumPorts: uint16(ports), Name: n.nameOf(id, c),
		SystemGUID: attr.system, VendorID: attr.vendor, DeviceID: attr.device,
	}
	classify(&node, c.peer.enhanced)
	node.GUID = n.guidOf(node, n.at())
	n.describe(node, attr, c)
}

// nameOf is the description of a node; ibsim gives the ID to one without.
func (n *netReader) nameOf(id []byte, c comment) string {
	if !c.named && n.dialect == simulated {
		return string(id)
	}
	return string(c.name)
}

// classify sets what follows from a node's kind and name.
func classify(node *fabric.Node, enhanced bool) {
	if node.Kind == fabric.Switch {
		node.EnhancedPort0 = enhanced
		node.MulticastCap = fabric.CapUnknown
	}
	node.Aggregation = node.Kind == fabric.Adapter && strings.Contains(node.Name, "Aggregation Node")
}

// describe states the node of a header, and what it says of port 0.
func (n *netReader) describe(node fabric.Node, attr attributes, c comment) {
	ref := n.names.ref([]byte(node.ID))
	if old, ok := n.Lookup(node.ID); ok && n.chassis && *n.Node(old) == node {
		n.here = old
		return
	}
	id, ok := n.node(node, n.at())
	if !ok {
		return
	}
	n.here = id
	n.names.refs[ref].node = id
	if node.Kind != fabric.Switch {
		n.derivePorts(id)
		return
	}
	info := fabric.PortInfo{GUID: attr.port, LID: n.lid(fabric.End{Node: id}, c.peer), LMC: n.lmc(c.peer)}
	if n.dialect == simulated && info.GUID == 0 {
		info.GUID = node.GUID
	}
	n.SetPort(fabric.End{Node: id}, info, n.at())
}

// brokenKind is the kind of a fault that the end of the file may have made.
func (n *netReader) brokenKind(kind fabric.FaultKind) fabric.FaultKind {
	if n.open && !n.cut {
		n.cut = true
		return fabric.FaultTruncated
	}
	return kind
}

// lid reads a LID that a port states of itself; 0 where it is none.
func (n *netReader) lid(e fabric.End, said facts) ib.LID {
	if lid, ok := parseLID(said.lid); ok {
		return lid
	}
	label := n.Node(e.Node).Label()
	switch {
	case n.dialect == simulated && (!said.hasLID || string(said.lid) == "0"):
	case len(said.lid) == 0:
		n.warn(fabric.FaultLID, "%s port %d states no LID", label, e.Port)
	default:
		n.warn(fabric.FaultLID, "%s port %d states LID %s, which is not in %d..%d",
			label, e.Port, shown(said.lid), ib.MinUnicastLID, ib.MaxUnicastLID)
	}
	return 0
}

// lmc reads an LMC, 0 where none is stated.
func (n *netReader) lmc(said facts) uint8 {
	v, ok := integer(said.lmc)
	if ok && v >= 0 && v <= 7 {
		return uint8(v)
	}
	if len(said.lmc) > 0 {
		n.warn(fabric.FaultLID, "LMC %s is not in 0..7", shown(said.lmc))
	}
	return 0
}

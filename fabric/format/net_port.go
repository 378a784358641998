package format

import (
	"bytes"

	"heddle/fabric"
	"heddle/ib"
)

// parseHeader takes a header behind its first word; fault says what is wrong.
func parseHeader(text []byte) (ports int, id, rest []byte, fault string) {
	s := scan{text}
	s.space()
	ports, _ = s.number()
	s.space()
	id, ok := s.between('"', '"')
	switch {
	case !ok:
		return 0, nil, nil, "without a closing quote"
	case len(id) == 0:
		return 0, nil, nil, "with an empty ID"
	case unclosed(id):
		return 0, nil, nil, "without a quote that ends the ID"
	}
	return ports, id, s.rest, ""
}

// unclosed tells whether an ID ran on into a comment.
func unclosed(id []byte) bool {
	i := bytes.IndexByte(id, '#')
	return i > 0 && (id[i-1] == ' ' || id[i-1] == '\t')
}

// portLine is a port line taken apart:
//
//	[1](2c90300005679)  "S-0002c90300001234"[7]  # ...
//	[7][ext 2]          "H-0002c90300005678"[1](2c90300005679)  # ...
type portLine struct {
	port     int
	guid     []byte
	peer     []byte
	peerPort int
	peerGUID []byte
	rest     []byte // options and comment
}

// errNoPeer of parsePort is for a port that is down.
const errNoPeer = "without a peer"

func parsePort(text []byte, d dialect) (p portLine, fault string) {
	s := scan{text}
	s.take("[")
	p.port, _ = s.number()
	if !s.take("]") {
		return p, "without the ] of its port"
	}
	s.label()
	p.guid, _ = s.between('(', ')')
	s.space()
	if i := bytes.IndexAny(s.rest, `"#`); i != 0 {
		if i < 0 || s.rest[i] == '#' {
			return p, errNoPeer
		}
		return p, "with something between its port and its peer"
	} else if s.rest[0] == '#' {
		return p, errNoPeer
	}
	return s.peerOf(p, d)
}

// peerOf takes the rest of a port line, from its peer on.
func (s *scan) peerOf(p portLine, d dialect) (portLine, string) {
	var ok bool
	p.peer, ok = s.between('"', '"')
	switch {
	case !ok || unclosed(p.peer):
		return p, "without a quote that ends its peer"
	case len(p.peer) == 0:
		return p, errNoPeer
	}
	s.space()
	if s.take("[") {
		if p.peerPort, ok = s.number(); !ok || !s.take("]") {
			return p, "without a number of its peer's port"
		}
	} else if p.peerPort = 1; d == discovered {
		return p, "without its peer's port"
	}
	s.label()
	s.space()
	p.peerGUID, _ = s.between('(', ')')
	p.rest = s.rest
	return p, ""
}

// label skips the label that a chassis gives to a port: [ext 4].
func (s *scan) label() {
	if bytes.HasPrefix(s.rest, []byte("[ext")) {
		s.until(']')
	}
}

// port takes the line of a port of the current node.
func (n *netReader) port(text []byte) {
	p, fault := parsePort(text, n.dialect)
	switch {
	case n.here == fabric.NoNode:
		if !n.orphan {
			n.orphan = true
			n.warn(fabric.FaultSyntax, "port lines of no node: skipped")
		}
	case fault == errNoPeer && !n.open:
		n.warn(fabric.FaultNoPeer, "%s port %d has no peer", n.Node(n.here).Label(), p.port)
	case fault != "":
		n.warn(n.brokenKind(fabric.FaultSyntax), "a port line %s: skipped", fault)
	case p.port < 1 || p.port > int(n.Node(n.here).NumPorts) || p.peerPort > 1<<16-1:
		node := n.Node(n.here)
		n.warn(fabric.FaultPortRange, "%s has ports 1 to %d: a cable from port %d to %s port %d is skipped",
			node.Label(), node.NumPorts, p.port, shown(p.peer), p.peerPort)
	default:
		n.cabled(p, parseComment(p.rest))
	}
}

// cabled keeps what a port line says.
func (n *netReader) cabled(p portLine, c comment) {
	if c.open {
		n.warn(n.brokenKind(fabric.FaultSyntax), "no quote ends the name %s", shown(c.name))
	}
	e := fabric.End{Node: n.here, Port: uint16(p.port)}
	if n.Node(n.here).Kind != fabric.Switch {
		guid := n.portGUID(p.guid)
		n.SetPort(e, fabric.PortInfo{GUID: guid, LID: n.lid(e, c.own), LMC: n.lmc(c.own)}, n.at())
	}
	w := portWord{
		from: e, peer: n.names.ref(p.peer), line: int32(n.num), peerPort: uint16(p.peerPort),
		peerGUID: n.portGUID(p.peerGUID), rate: n.rate(c),
	}
	var ok bool
	if w.peerLID, ok = parseLID(c.peer.lid); !ok && c.peer.hasLID {
		n.names.refs[w.peer].badLID = true
	}
	n.mention(w, c)
	if n.cable() && !n.over(len(n.names.refs), maxNodes, "nodes") {
		n.words = append(n.words, w)
	}
}

// mention keeps what a line tells of a node that is not described so far.
func (n *netReader) mention(w portWord, c comment) {
	ref := &n.names.refs[w.peer]
	if ref.node != fabric.NoNode {
		return
	}
	if ref.line == 0 {
		ref.line, ref.name = n.num, string(c.name)
	}
	ref.ports = max(ref.ports, w.peerPort)
	ref.ported = ref.ported || w.peerGUID != 0
}

func (n *netReader) portGUID(text []byte) ib.GUID {
	g, ok := parseGUID(text)
	if !ok && len(text) > 0 {
		n.warn(fabric.FaultGUID, "%q is no GUID of a port", shown(text))
	}
	return g
}

// rate is what a port line says that the link runs at.
func (n *netReader) rate(c comment) ib.LinkRate {
	if c.peer.rate == nil {
		if n.open && n.rated {
			n.warn(n.brokenKind(fabric.FaultRate), "the line ends before its rate")
		}
		c.peer.masks.merge(n.defaults)
		return c.peer.masks.rate()
	}
	n.rated = true
	rate, ok := parseRate(c.peer.rate)
	if !ok {
		n.warn(n.brokenKind(fabric.FaultRate), "%q is no width and speed such as 4xHDR", shown(c.peer.rate))
	}
	return rate
}

package format

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"strconv"
	"strings"

	"heddle/fabric"
	"heddle/ib"
)

// subnetLst is the file opensm-subnet.lst that OpenSM dumps after a sweep: a
// line for each end of each link, with both ends in braces. Numbers are
// hexadecimal. It tells nothing of LMCs, of nodes without a link, or what port
// 0 of a switch is; only newer versions tell the speed.
//
//	{ CA Ports:01 SystemGUID:... NodeGUID:... PortGUID:... VenID:0002C9 DevID:1017 Rev:00000000 {node1 HCA-1} LID:0004 PN:01 } { SW ... } PHY=4x LOG=ACT SPD=25
var subnetLst = Format{
	Name:       "subnet.lst",
	About:      "OpenSM's dump of the links, opensm-subnet.lst",
	Extensions: []string{".lst"},
	Detect: func(head []byte) bool {
		return bytes.Contains(head, []byte(" NodeGUID:")) && bytes.Contains(head, []byte(" PN:"))
	},
	Read:  readSubnetLst,
	Write: writeSubnetLst,
}

type lstReader struct{ gatherer }

func readSubnetLst(r io.Reader, name string) (*fabric.Fabric, []fabric.Fault, error) {
	l := &lstReader{newGatherer(r, name)}
	if err := l.each(l.read); err != nil {
		return nil, nil, err
	}
	f, faults := l.Build()
	return f, faults, nil
}

func (l *lstReader) read(text []byte) {
	s := scan{bytes.TrimSpace(text)}
	switch {
	case len(s.rest) == 0 || s.rest[0] == '#':
		return
	case s.rest[0] != '{':
		l.warn(fabric.FaultNoise, "skipped, not a link: %s", shown(text))
		return
	}
	a, fault := parseLstEnd(&s)
	if fault == "" {
		var b lstEnd
		if b, fault = parseLstEnd(&s); fault == "" {
			l.link(a, b, s)
			return
		}
	}
	kind := fabric.FaultSyntax
	if l.open {
		kind = fabric.FaultTruncated
	}
	l.warn(kind, "a link %s: skipped", fault)
}

// lstEnd is one pair of braces.
type lstEnd struct {
	node     fabric.Node
	portGUID ib.GUID
	port     uint64
	lid      uint64
}

func parseLstEnd(s *scan) (e lstEnd, fault string) {
	s.space()
	if !s.take("{") {
		return e, "without the { of an end"
	}
	head, ok := s.until('{')
	if !ok {
		return e, "without the { of a name"
	}
	// The name is opaque: only the braces that these words follow end it.
	i := bytes.Index(s.rest, []byte("} LID:"))
	if i < 0 {
		return e, "without the end of a name"
	}
	e.node.Name = string(s.rest[:i])
	s.rest = s.rest[i+1:]
	tail, ok := s.until('}')
	if !ok {
		return e, "without the } of an end"
	}
	words := scan{head}
	e.node.Kind = lstKind(string(words.word()))
	e.fields(words)
	e.fields(scan{tail})
	e.node.ID = fabric.DefaultID(e.node.Kind, e.node.GUID)
	classify(&e.node, false)
	switch {
	case e.node.Kind == 0:
		return e, "of a node that is no SW, CA or Rt"
	case e.node.GUID == 0:
		return e, "without the GUID of a node"
	}
	return e, ""
}

// fields takes words such as LID:0004; a value that cannot be read is zero.
func (e *lstEnd) fields(s scan) {
	for word := s.word(); len(word) > 0; word = s.word() {
		key, text, _ := bytes.Cut(word, []byte(":"))
		v, err := strconv.ParseUint(string(text), 16, 64)
		if err != nil {
			v = 0
		}
		e.set(string(key), v)
	}
}

// lstKind is the kind that a word such as SW or CA-SM means.
func lstKind(word string) fabric.Kind {
	switch strings.TrimSuffix(word, "-SM") {
	case "SW":
		return fabric.Switch
	case "CA":
		return fabric.Adapter
	case "Rt":
		return fabric.Router
	}
	return 0
}

func lstWord(k fabric.Kind) string {
	switch k {
	case fabric.Switch:
		return "SW"
	case fabric.Router:
		return "Rt"
	default:
		return "CA"
	}
}

func (e *lstEnd) set(key string, v uint64) {
	switch key {
	case "Ports":
		e.node.NumPorts = uint16(min(v, 1<<16-1))
	case "SystemGUID":
		e.node.SystemGUID = ib.GUID(v)
	case "NodeGUID":
		e.node.GUID = ib.GUID(v)
	case "PortGUID":
		e.portGUID = ib.GUID(v)
	case "VenID":
		e.node.VendorID = uint32(v)
	case "DevID":
		if v&0xffff == 0 {
			v >>= 16 // written with its halves swapped
		}
		e.node.DeviceID = uint32(uint16(v))
	case "LID":
		e.lid = v
	case "PN":
		e.port = v
	}
}

// link takes a line's ends, and what follows them.
func (l *lstReader) link(a, b lstEnd, s scan) {
	from, ok := l.end(a)
	if !ok {
		return
	}
	to, ok := l.end(b)
	if !ok || !l.cable() {
		return
	}
	rate, down := l.rate(s)
	if down {
		l.warn(fabric.FaultNoPeer, "the link of %s port %d is down", l.Node(from.Node).Label(), from.Port)
		return
	}
	l.Connect(from, to, rate, l.at())
}

// end states a node, where it is new, and its port.
func (l *lstReader) end(e lstEnd) (fabric.End, bool) {
	id, known := l.LookupGUID(e.node.GUID)
	if !known {
		var ok bool
		if id, ok = l.node(e.node, l.at()); !ok {
			return fabric.End{}, false
		}
	}
	node := l.Node(id)
	if node.DeviceID == 0 { // some versions write 0 at the second end
		node.DeviceID = e.node.DeviceID
	}
	if e.port < 1 || e.port > uint64(node.NumPorts) {
		l.warn(fabric.FaultPortRange, "%s has ports 1 to %d, not %d", node.Label(), node.NumPorts, e.port)
		return fabric.End{}, false
	}
	end := fabric.End{Node: id, Port: uint16(e.port)}
	l.port(end, e)
	return end, true
}

// port states the GUID and the LID of an end; a switch has them at port 0.
func (l *lstReader) port(end fabric.End, e lstEnd) {
	if l.Node(end.Node).Kind == fabric.Switch {
		end.Port = 0
	}
	if l.Port(end) != (fabric.PortInfo{}) {
		return // said by a line before
	}
	info := fabric.PortInfo{GUID: e.portGUID}
	if e.lid <= uint64(ib.MaxUnicastLID) {
		info.LID = ib.LID(e.lid)
	}
	if info.LID == 0 {
		l.warn(fabric.FaultLID, "%s port %d has LID %d, which is not in %d..%d",
			l.Node(end.Node).Label(), end.Port, e.lid, ib.MinUnicastLID, ib.MaxUnicastLID)
	}
	l.SetPort(end, info, l.at())
}

// rate takes PHY=4x LOG=ACT SPD=25; of these the first two are always there.
func (l *lstReader) rate(s scan) (rate ib.LinkRate, down bool) {
	for {
		word := s.word()
		key, value, ok := bytes.Cut(word, []byte("="))
		if len(word) == 0 {
			return rate, down
		}
		var err error
		switch text := string(value); {
		case !ok || strings.HasPrefix(text, "?"):
		case string(key) == "PHY":
			rate.Width, err = ib.ParseWidth(text)
		case string(key) == "SPD":
			rate.Speed, err = ib.ParseSpeed(text)
		case string(key) == "LOG":
			down = text == "DWN"
		}
		if err != nil {
			l.warn(fabric.FaultRate, "%v", err)
		}
	}
}

func writeSubnetLst(out io.Writer, f *fabric.Fabric) error {
	w := bufio.NewWriter(out)
	for i := range f.NumNodes() {
		for e, peer := range f.Ports(fabric.NodeID(i)) {
			writeLstEnd(w, f, e)
			writeLstEnd(w, f, peer)
			writeLstRate(w, f.Link(f.Port(e).Link).Rate)
		}
	}
	return w.Flush()
}

func writeLstEnd(w *bufio.Writer, f *fabric.Fabric, e fabric.End) {
	n, port := f.Node(e.Node), f.Port(e)
	if n.Kind == fabric.Switch {
		port = f.Port(fabric.End{Node: e.Node})
	}
	name := strings.ReplaceAll(printable(n.Name), "} LID:", ") LID:")
	fmt.Fprintf(w, "{ %s Ports:%02X SystemGUID:%016x NodeGUID:%016x PortGUID:%016x VenID:%06X DevID:%04X Rev:00000000 {%s} LID:%04X PN:%02X } ",
		lstWord(n.Kind), n.NumPorts, uint64(n.SystemGUID), uint64(n.GUID), uint64(port.GUID), n.VendorID, uint16(n.DeviceID),
		name, uint16(port.LID), e.Port)
}

func writeLstRate(w *bufio.Writer, r ib.LinkRate) {
	width, speed := "??", "??"
	if r.Width != 0 {
		width = r.Width.String()
	}
	switch {
	case r.Speed == ib.FDR10: // whose number is that of QDR
		speed = r.Speed.String()
	case r.Speed != 0:
		speed = strconv.FormatFloat(r.Speed.LaneGbps(), 'f', -1, 64)
	}
	fmt.Fprintf(w, "PHY=%s LOG=ACT SPD=%s\n", width, speed)
}

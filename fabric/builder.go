package fabric

import (
	"fmt"

	"heddle/ib"
)

// Builder gathers statements about a fabric and finds what is wrong with them.
// The zero Builder is ready; it must not be used by two goroutines at once.
type Builder struct {
	nodes  []Node
	placed []spot
	ports  [][]PortInfo // by node; as long as the highest port told of
	byGUID map[ib.GUID]NodeID
	byID   map[string]NodeID
	cables []cable
	files  fileNames
	faults faultList
}

// cable is one end's word about its cable. There are millions in a large
// file, so it is small.
type cable struct {
	from, to End
	at       spot
	rate     ib.LinkRate
	both     bool // the statement speaks for both ends
}

// AddNode states a node and returns its index. A GUID or an ID that was stated
// before is a fault, and the index is that of the first.
func (b *Builder) AddNode(n Node, at Place) NodeID {
	if b.byID == nil {
		b.byID, b.byGUID = map[string]NodeID{}, map[ib.GUID]NodeID{}
	}
	if n.ID == "" {
		n.ID = DefaultID(n.Kind, n.GUID)
	}
	if old, ok := b.known(n); ok {
		b.Report(Fault{
			Kind: FaultDuplicateNode, Severity: Warning, At: at, Other: b.placeOf(old),
			Text: fmt.Sprintf("%s is described twice, the first is used", n.Label()),
		})
		return old
	}
	id := NodeID(len(b.nodes))
	b.nodes = append(b.nodes, n)
	b.placed = append(b.placed, b.files.spot(at))
	b.ports = append(b.ports, nil)
	b.byID[n.ID] = id
	if n.GUID.IsValid() {
		b.byGUID[n.GUID] = id
	}
	return id
}

// DefaultID is the ID that ibnetdiscover would give to a node: a letter for
// its kind and its GUID.
func DefaultID(k Kind, g ib.GUID) string {
	letter := "?"
	switch k {
	case Switch:
		letter = "S"
	case Adapter:
		letter = "H"
	case Router:
		letter = "R"
	}
	return fmt.Sprintf("%s-%016x", letter, uint64(g))
}

func (b *Builder) known(n Node) (NodeID, bool) {
	if id, ok := b.byID[n.ID]; ok {
		return id, true
	}
	if !n.GUID.IsValid() {
		return NoNode, false
	}
	id, ok := b.byGUID[n.GUID]
	return id, ok
}

// Lookup finds a node by its ID.
func (b *Builder) Lookup(id string) (NodeID, bool) {
	n, ok := b.byID[id]
	return n, ok
}

// LookupGUID finds a node by its GUID.
func (b *Builder) LookupGUID(g ib.GUID) (NodeID, bool) {
	n, ok := b.byGUID[g]
	return n, ok
}

// Node returns what was stated about a node; the pointer is valid until the
// next AddNode, and what it points at may be changed until Build.
func (b *Builder) Node(id NodeID) *Node { return &b.nodes[id] }

// Port returns what was stated about a port so far; nothing for a port that was
// not told of.
func (b *Builder) Port(e End) PortInfo {
	if ports := b.ports[e.Node]; int(e.Port) < len(ports) {
		return ports[e.Port]
	}
	return PortInfo{}
}

// SetPort states facts of a port; zero fields leave what was known.
func (b *Builder) SetPort(e End, p PortInfo, at Place) {
	if !b.inRange(e, at) {
		return
	}
	ports := b.ports[e.Node]
	for len(ports) <= int(e.Port) {
		ports = append(ports, PortInfo{})
	}
	b.ports[e.Node] = ports
	have := &ports[e.Port]
	if p.GUID != 0 {
		have.GUID = p.GUID
	}
	if p.LID != 0 {
		have.LID = p.LID
	}
	if p.LMC != 0 {
		have.LMC = p.LMC
	}
}

func (b *Builder) inRange(e End, at Place) bool {
	n := &b.nodes[e.Node]
	if e.Port <= n.NumPorts {
		return true
	}
	b.Report(Fault{
		Kind: FaultPortRange, Severity: Warning, At: at, Other: b.placeOf(e.Node),
		Text: fmt.Sprintf("%s has ports 0 to %d, not %d", n.Label(), n.NumPorts, e.Port),
	})
	return false
}

// placeOf is where a node was stated.
func (b *Builder) placeOf(id NodeID) Place { return b.files.place(b.placed[id]) }

// Connect states what the end from says: that its cable leads to the end to.
// Build expects the same from the other side.
func (b *Builder) Connect(from, to End, rate ib.LinkRate, at Place) {
	b.cables = append(b.cables, cable{from: from, to: to, rate: rate, at: b.files.spot(at)})
}

// Cable states a cable for both of its ends at once.
func (b *Builder) Cable(x, y End, rate ib.LinkRate, at Place) {
	b.cables = append(b.cables, cable{from: x, to: y, rate: rate, at: b.files.spot(at), both: true})
}

// Report adds a fault that the caller found. Beyond MaxFaults of a kind, faults
// are counted only.
func (b *Builder) Report(f Fault) { b.faults.add(f) }

// Build makes the fabric of all that was stated, and the faults in the order
// in which they were found: those of single statements first, then those of
// the whole, then how many more there are of the kinds that are too many. The fabric is usable for what the faults leave of it; whether it
// can be routed is told by Errors. The Builder must not be used afterwards.
func (b *Builder) Build() (*Fabric, []Fault) {
	f := &Fabric{nodes: b.nodes, byGUID: b.byGUID, byID: b.byID}
	b.layPorts(f)
	b.layLinks(f)
	f.index()
	b.checkWhole(f)
	return f, b.faults.all()
}

func (b *Builder) layPorts(f *Fabric) {
	f.first = make([]int32, len(f.nodes)+1)
	total := int32(0)
	for i := range f.nodes {
		f.first[i] = total
		total += int32(f.nodes[i].NumPorts) + 1
	}
	f.first[len(f.nodes)] = total
	f.ports = make([]Port, total)
	for i := range f.ports {
		f.ports[i].Link = NoLink
	}
	for i, ports := range b.ports {
		have := f.ports[f.first[i]:f.first[i+1]]
		for p, info := range ports[:min(len(ports), len(have))] {
			have[p].PortInfo = info
		}
		b.ports[i] = nil
	}
}

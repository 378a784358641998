package route

import (
	"heddle/fabric"
	"heddle/ib"
)

// NoPort is what a forwarding table holds for a LID that it does not forward.
const NoPort = 255

// LFT is the linear forwarding table of a switch: the port by LID, NoPort for
// none, 0 for the switch itself.
type LFT []uint8

// Lookup finds the port for a LID.
func (t LFT) Lookup(l ib.LID) uint8 {
	if int(l) >= len(t) {
		return NoPort
	}
	return t[l]
}

// LFTs are the linear forwarding tables of all switches of a graph.
type LFTs struct {
	Graph *Graph
	LIDs  *LIDs
	// Tables has one for each vertex, each as long as the highest LID, plus one.
	Tables []LFT
}

// NewLFTs makes tables without any port but those of the switches themselves.
// The error is a PortRangeError.
func NewLFTs(g *Graph, lids *LIDs) (*LFTs, error) {
	if err := g.CheckPorts(); err != nil {
		return nil, err
	}
	t := &LFTs{g, lids, make([]LFT, g.NumVertices())}
	size := int(lids.Top()) + 1
	flat := make([]uint8, size*len(t.Tables))
	for i := range flat {
		flat[i] = NoPort
	}
	for v := range t.Tables {
		t.Tables[v] = flat[v*size : (v+1)*size : (v+1)*size]
	}
	for l := ib.MinUnicastLID; l <= lids.Top(); l++ {
		if e, ok := lids.Owner(l); ok && g.vertex[e.Node] >= 0 {
			t.Tables[g.vertex[e.Node]][l] = 0
		}
	}
	return t, nil
}

// Exit is where a table's port for a LID leads: the port at the far end.
func (t *LFTs) Exit(v int32, l ib.LID) (peer fabric.End, ok bool) {
	port := t.Tables[v].Lookup(l)
	if port == NoPort {
		return fabric.End{Node: fabric.NoNode}, false
	}
	return t.Graph.f.Peer(fabric.End{Node: t.Graph.nodes[v], Port: uint16(port)})
}

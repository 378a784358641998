package format

import (
	"heddle/fabric"
	"heddle/ib"
)

// finish turns the words of the port lines into cables, and adds the nodes
// that the file names and does not describe.
func (n *netReader) finish() {
	n.checkEnd()
	n.guids.stated = [fabric.Router + 1]ib.GUID{} // of a node that never came
	for i := range n.names.refs {
		if ref := &n.names.refs[i]; ref.node == fabric.NoNode && !n.full {
			n.addMentioned(ref)
		}
	}
	for _, w := range n.words {
		if to := n.names.refs[w.peer].node; to != fabric.NoNode {
			n.connect(w, to)
		}
	}
	n.words = nil
}

// checkEnd looks for signs that the end of the file is missing: attributes
// without their node, or, as adapters come last, none where some are named.
func (n *netReader) checkEnd() {
	switch {
	case n.full || n.cut:
	case n.next.any && n.dialect == discovered:
		n.warnAt(n.line(n.next.line), fabric.FaultTruncated, "the file ends before the node of this line")
	case n.dialect == discovered && n.noAdapters():
		n.warn(fabric.FaultTruncated, "the file ends before its adapters")
	}
}

// noAdapters tells whether adapters are named and none is described.
func (n *netReader) noAdapters() bool {
	named := false
	for i := range n.names.refs {
		ref := &n.names.refs[i]
		if ref.node == fabric.NoNode {
			named = named || ref.kind() == fabric.Adapter
		} else if n.Node(ref.node).Kind == fabric.Adapter {
			return false
		}
	}
	return named
}

// addMentioned adds a node from the lines that name it, so that the fabric
// stays whole.
func (n *netReader) addMentioned(ref *netRef) {
	at := n.line(ref.line)
	node := fabric.Node{ID: ref.id, Name: ref.name, Kind: ref.kind(), NumPorts: ref.ports}
	if node.Kind == 0 {
		n.warnAt(at, fabric.FaultUnknownPeer, "%s is not described, and its kind is not known: not used", shown([]byte(ref.id)))
		return
	}
	classify(&node, false)
	node.GUID = n.guidOf(node, at)
	n.warnAt(at, fabric.FaultUnknownPeer, "%s is not described: what the lines that name it tell is used", node.Label())
	if ref.badLID && node.Kind != fabric.Switch {
		n.warnAt(at, fabric.FaultLID, "%s is named with a LID that is not in %d..%d",
			node.Label(), ib.MinUnicastLID, ib.MaxUnicastLID)
	}
	if id, ok := n.node(node, at); ok {
		ref.node, ref.made = id, true
	}
}

// connect states a cable, and what its line tells of the far port where that
// port does not tell itself.
func (n *netReader) connect(w portWord, to fabric.NodeID) {
	end := fabric.End{Node: to, Port: w.peerPort}
	n.tellPeer(w, end)
	if n.names.refs[w.peer].made || w.both {
		n.Cable(w.from, end, w.rate, n.line(int(w.line)))
		return
	}
	n.Connect(w.from, end, w.rate, n.line(int(w.line)))
}

// tellPeer gives a port what its neighbour says of it and it does not say
// itself. A switch has its LID at port 0.
func (n *netReader) tellPeer(w portWord, end fabric.End) {
	node := n.Node(end.Node)
	if node.Kind == fabric.Switch {
		end.Port, w.peerGUID = 0, 0
	}
	if end.Port > node.NumPorts || end.Port == 0 && node.Kind != fabric.Switch {
		return // which Build will report
	}
	have, add := n.Port(end), fabric.PortInfo{}
	if have.GUID == 0 {
		add.GUID = w.peerGUID
	}
	if have.LID == 0 {
		add.LID = w.peerLID
	}
	if add != (fabric.PortInfo{}) {
		n.SetPort(end, add, n.line(int(w.line)))
	}
}

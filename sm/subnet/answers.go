package subnet

import (
	"slices"

	"heddle/fabric"
	"heddle/ib"
	"heddle/mad"
)

// nodeInfo takes up the node at the end of a path, and the link to it.
func (w *walk) nodeInfo(q question, info mad.NodeInfo) {
	n, known := w.nodes[info.NodeGUID]
	if !known {
		n = w.addNode(q, info)
	}
	if int(info.LocalPortNum) >= len(n.Ports) {
		w.report(fabric.FaultPortRange, fabric.Error, "%s tells of its port %d, and has %d", n.at(), info.LocalPortNum, n.Info.NumPorts)
		return
	}
	if q.from != nil {
		w.link(q.from, q.port, n, info.LocalPortNum)
	} else {
		w.ownPort = info.LocalPortNum
	}
	switch {
	case !n.IsSwitch():
		p := &n.Ports[info.LocalPortNum]
		if p.Path == nil {
			p.GUID, p.Path = info.PortGUID, slices.Clip(q.path)
		}
		w.askPort(n, q.path, info.LocalPortNum)
	case !known:
		n.Ports[0].GUID = info.PortGUID
		w.askSwitch(n)
	}
}

func (w *walk) addNode(q question, info mad.NodeInfo) *Node {
	n := &Node{Info: info, Path: q.path, Ports: make([]Port, int(info.NumPorts)+1), own: q.from == nil}
	if n.IsSwitch() {
		for i := range n.Ports {
			n.Ports[i].Path = n.Path
		}
	}
	w.nodes[info.NodeGUID] = n
	w.ask(question{attr: mad.AttrNodeDescription, path: n.Path, node: n})
	return n
}

// link notes that two ports are connected, unless one of them was seen at
// another cable.
func (w *walk) link(from *Node, port uint8, to *Node, toPort uint8) {
	a, b := &from.Ports[port], &to.Ports[toPort]
	switch {
	case a.peer == to && a.number == toPort: // from the other side, or by another path
	case a.peer != nil:
		w.conflict(from, port, to, toPort, a)
	case b.peer != nil:
		w.conflict(to, toPort, from, port, b)
	default:
		a.peer, a.number, b.peer, b.number = to, toPort, from, port
	}
}

// conflict is of a port that seems to lead to two: a cable was moved while we
// looked, or two nodes have one GUID.
func (w *walk) conflict(at *Node, port uint8, to *Node, toPort uint8, have *Port) {
	w.report(fabric.FaultPortConflict, fabric.Warning,
		"%s port %d leads to %s port %d and to %s port %d, which is used: a moved cable, or a GUID of two nodes",
		at.Label(), port, to.Label(), toPort, have.peer.Label(), have.number)
}

// askSwitch asks for what a switch is; its ports follow when that is answered.
func (w *walk) askSwitch(n *Node) {
	w.ask(question{attr: mad.AttrSwitchInfo, path: n.Path, node: n})
}

func (w *walk) askPorts(n *Node) {
	for port := range n.Ports {
		w.askPort(n, n.Path, uint8(port))
	}
}

func (w *walk) askPort(n *Node, path []uint8, port uint8) {
	w.ask(question{attr: mad.AttrPortInfo, modifier: uint32(port), path: path, node: n})
}

func (w *walk) nodeDescription(q question, d mad.NodeDescription) { q.node.Description = d.String() }

func (w *walk) switchInfo(q question, info mad.SwitchInfo) {
	q.node.Switch = info
	if !w.clear || !info.PortStateChange || q.data != nil {
		w.askPorts(q.node)
		return
	}
	q.node.Changed = true
	q.data = info.AppendTo(nil) // writing the bit clears it
	w.ask(q)
}

// portInfo takes what a port is and, where it leads on, asks who is there. The
// walk goes through switches, and out of the node where it began.
func (w *walk) portInfo(q question, info mad.PortInfo) {
	n, number := q.node, uint8(q.modifier)
	p := &n.Ports[number]
	p.Answered, p.Info = true, info
	if w.pkeys && (!n.IsSwitch() || number == 0) {
		w.askPKeys(n, q.path, number, 0)
	}
	if info.PortState < mad.PortInit || n.IsSwitch() && number == 0 {
		return
	}
	if info.LinkRate().Speed == ib.QDR && n.Info.VendorID == mellanox {
		w.ask(question{attr: mad.AttrMlnxExtPortInfo, modifier: q.modifier, path: q.path, node: n})
	}
	if p.peer == nil && (n.IsSwitch() || n.own) {
		w.askBeyond(q, number)
	}
}

func (w *walk) askPKeys(n *Node, path []uint8, port uint8, block uint16) {
	w.ask(question{attr: mad.AttrPKeyTable, modifier: mad.PKeyTableModifier(0, block), path: path, node: n, port: port})
}

// pkeyTable takes a block of a port's P_Key table, and asks for the next one.
// An empty block is no reason to stop: keys that are removed leave holes.
func (w *walk) pkeyTable(q question, t mad.PKeyTable) {
	n := q.node
	p := &n.Ports[q.port]
	if uint32(len(p.PKeys)) != q.modifier*uint32(len(t)) {
		return // an answer to another way to the same port
	}
	length := max(int(n.Info.PartitionCap), 1)
	p.PKeys = append(p.PKeys, t[:min(len(t), length-len(p.PKeys))]...)
	if len(p.PKeys) < length {
		w.askPKeys(n, q.path, q.port, uint16(q.modifier)+1)
	}
}

// askBeyond asks who is at the other end of a port's cable.
func (w *walk) askBeyond(q question, port uint8) {
	if len(q.path) == mad.MaxHops {
		w.report(fabric.FaultLimit, fabric.Error,
			"%s port %d is %d hops away, the most of a directed route: what is behind it is not known",
			q.node.Label(), port, mad.MaxHops)
		return
	}
	path := append(slices.Clip(slices.Clone(q.path)), port)
	w.ask(question{attr: mad.AttrNodeInfo, path: path, from: q.node, port: port})
}

// mellanox is the vendor whose devices tell FDR10, which the standard does not
// have, from QDR.
const mellanox = 0x0002c9

func (w *walk) mlnxExtPortInfo(q question, info mad.MlnxExtPortInfo) {
	q.node.Ports[q.modifier].FDR10 = info.LinkSpeedActive.Fastest() == ib.FDR10
}

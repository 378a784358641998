package discover

import (
	"fmt"
	"slices"
	"strings"

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
	end := fabric.End{Node: n.id, Port: uint16(info.LocalPortNum)}
	if q.from.Node >= 0 {
		w.link(q.from, end)
	}
	if n.kind == mad.NodeSwitch {
		if !known {
			w.build.SetPort(fabric.End{Node: n.id}, fabric.PortInfo{GUID: info.PortGUID}, fabric.Place{})
			w.askSwitch(n)
		}
		return
	}
	w.build.SetPort(end, fabric.PortInfo{GUID: info.PortGUID}, fabric.Place{})
	w.askPort(n, q.path, info.LocalPortNum)
}

func (w *walk) addNode(q question, info mad.NodeInfo) *node {
	n := &node{
		guid: info.NodeGUID, kind: info.NodeType, vendor: info.VendorID, ports: info.NumPorts,
		path: q.path, own: q.from == nowhere,
	}
	n.id = w.build.AddNode(fabric.Node{
		GUID: info.NodeGUID, Kind: kindOf(info.NodeType), NumPorts: uint16(info.NumPorts),
		SystemGUID: info.SystemImageGUID, VendorID: info.VendorID, DeviceID: uint32(info.DeviceID),
		MulticastCap: multicastCap(info.NodeType),
	}, fabric.Place{})
	w.nodes[info.NodeGUID] = n
	w.ask(question{attr: mad.AttrNodeDescription, path: n.path, node: n})
	return n
}

// multicastCap is what is known before SwitchInfo tells it.
func multicastCap(t mad.NodeType) int32 {
	if t == mad.NodeSwitch {
		return fabric.CapUnknown
	}
	return 0
}

func kindOf(t mad.NodeType) fabric.Kind {
	switch t {
	case mad.NodeSwitch:
		return fabric.Switch
	case mad.NodeRouter:
		return fabric.Router
	case mad.NodeCA:
		return fabric.Adapter
	default:
		return fabric.Adapter // a kind that does not forward, as far as we know
	}
}

// link notes that two ports are connected, unless one of them was seen at
// another cable.
func (w *walk) link(from, to fabric.End) {
	there, known := w.peers[from]
	back, taken := w.peers[to]
	switch {
	case known && there == to: // from the other side, or by another path
	case known:
		w.conflict(from, to, there)
	case taken:
		w.conflict(to, from, back)
	default:
		w.peers[from], w.peers[to] = to, from
		w.cables = append(w.cables, from)
	}
}

// conflict is of a port that seems to lead to two: a cable was moved while we
// looked, or two nodes have one GUID.
func (w *walk) conflict(at, one, other fabric.End) {
	w.build.Report(fabric.Fault{
		Kind: fabric.FaultPortConflict, Severity: fabric.Warning,
		Text: fmt.Sprintf("%s leads to %s and to %s, which is used: a moved cable, or a GUID of two nodes",
			w.label(at), w.label(one), w.label(other)),
	})
}

func (w *walk) label(e fabric.End) string {
	return fmt.Sprintf("%s port %d", w.build.Node(e.Node).Label(), e.Port)
}

func (w *walk) askSwitch(n *node) {
	w.ask(question{attr: mad.AttrSwitchInfo, path: n.path, node: n})
	for port := range int(n.ports) + 1 {
		w.askPort(n, n.path, uint8(port))
	}
}

func (w *walk) askPort(n *node, path []uint8, port uint8) {
	w.ask(question{attr: mad.AttrPortInfo, modifier: uint32(port), path: path, node: n})
}

func (w *walk) nodeDescription(q question, d mad.NodeDescription) {
	n := w.build.Node(q.node.id)
	n.Name = d.String()
	n.Aggregation = n.Kind == fabric.Adapter && strings.Contains(n.Name, "Aggregation Node")
}

func (w *walk) switchInfo(q question, info mad.SwitchInfo) {
	n := w.build.Node(q.node.id)
	n.EnhancedPort0 = info.EnhancedPort0
	n.MulticastCap = int32(info.MulticastFDBCap)
}

// portInfo takes what a port is and, where it leads on, asks who is there. The
// walk goes through switches, and out of the node where it began.
func (w *walk) portInfo(q question, info mad.PortInfo) {
	e := fabric.End{Node: q.node.id, Port: uint16(q.modifier)}
	isSwitch := q.node.kind == mad.NodeSwitch
	if !isSwitch || e.Port == 0 {
		w.build.SetPort(e, fabric.PortInfo{LID: info.LID, LMC: info.LMC}, fabric.Place{})
	}
	if info.PortState < mad.PortInit || isSwitch && e.Port == 0 {
		return
	}
	w.rates[e] = info.LinkRate()
	if info.LinkRate().Speed == ib.QDR && q.node.vendor == mellanox {
		w.ask(question{attr: mad.AttrMlnxExtPortInfo, modifier: q.modifier, path: q.path, node: q.node})
	}
	if _, known := w.peers[e]; !known && (isSwitch || q.node.own) {
		w.askBeyond(q, e)
	}
}

// askBeyond asks who is at the other end of a port's cable.
func (w *walk) askBeyond(q question, e fabric.End) {
	if len(q.path) == mad.MaxHops {
		w.build.Report(fabric.Fault{
			Kind: fabric.FaultLimit, Severity: fabric.Error,
			Text: fmt.Sprintf("%s is %d hops away, the most of a directed route: what is behind it is not known",
				w.label(e), mad.MaxHops),
		})
		return
	}
	path := append(slices.Clip(slices.Clone(q.path)), uint8(e.Port))
	w.ask(question{attr: mad.AttrNodeInfo, path: path, from: e})
}

// mellanox is the vendor whose devices tell FDR10, which the standard does not
// have, from QDR.
const mellanox = 0x0002c9

func (w *walk) mlnxExtPortInfo(q question, info mad.MlnxExtPortInfo) {
	e := fabric.End{Node: q.node.id, Port: uint16(q.modifier)}
	if rate := w.rates[e]; info.LinkSpeedActive.Fastest() == ib.FDR10 {
		rate.Speed = ib.FDR10
		w.rates[e] = rate
	}
}

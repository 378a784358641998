package subnet

import (
	"cmp"
	"slices"

	"heddle/fabric"
	"heddle/ib"
	"heddle/mad"
)

// Keep takes over nodes of an older view that did not answer, though a link
// that leads to them is up: a lost datagram or a busy agent must not tear down
// the routes through them. A node stays for so many sweeps in a row; its Stale
// counts them. What is behind a kept node, and was not reached another way, is
// kept with it.
func (v *View) Keep(old *View, sweeps int) (kept []*Node) {
	k := keeper{now: map[ib.GUID]*Node{}, sweeps: sweeps}
	for _, n := range v.Nodes {
		k.now[n.GUID()] = n
	}
	k.old = map[ib.GUID]*Node{}
	for _, n := range old.Nodes {
		k.old[n.GUID()] = n
	}
	for _, n := range v.Nodes {
		k.behind(n)
	}
	for i := 0; i < len(k.kept); i++ {
		k.behind(k.kept[i])
	}
	if len(k.kept) > 0 {
		v.Nodes = append(v.Nodes, k.kept...)
		v.renumber()
		v.Rebuild()
	}
	return k.kept
}

type keeper struct {
	now, old map[ib.GUID]*Node
	sweeps   int
	kept     []*Node
}

// behind keeps the nodes that a node's links led to and that are missing, and
// lays the links.
func (k *keeper) behind(n *Node) {
	before := k.old[n.GUID()]
	if before == nil || len(before.Ports) != len(n.Ports) {
		return
	}
	for i := range n.Ports {
		x, was := &n.Ports[i], &before.Ports[i]
		if x.peer != nil || was.peer == nil || x.Info.PortState < mad.PortInit {
			continue
		}
		peer := k.now[was.peer.GUID()]
		if peer == nil {
			peer = k.keep(was.peer)
		}
		if peer == nil || peer.Stale == 0 && n.Stale == 0 {
			continue // both answered: the link is not there
		}
		if int(was.number) < len(peer.Ports) && peer.Ports[was.number].peer == nil {
			x.peer, x.number = peer, was.number
			y := &peer.Ports[was.number]
			y.peer, y.number = n, uint8(i)
		}
	}
}

// keep makes a copy of an old node without links.
func (k *keeper) keep(old *Node) *Node {
	if old.Stale >= k.sweeps {
		return nil
	}
	n := *old
	n.Stale++
	n.own = false
	n.Ports = slices.Clone(old.Ports)
	for i := range n.Ports {
		n.Ports[i].peer, n.Ports[i].number = nil, 0
	}
	k.now[n.GUID()] = &n
	k.kept = append(k.kept, &n)
	return &n
}

// renumber puts the nodes in the order of their GUIDs.
func (v *View) renumber() {
	slices.SortFunc(v.Nodes, func(a, b *Node) int { return cmp.Compare(a.GUID(), b.GUID()) })
	for i, n := range v.Nodes {
		n.ID = fabric.NodeID(i)
		if n.own {
			v.Own.Node = n.ID
		}
	}
}

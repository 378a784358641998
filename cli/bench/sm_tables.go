package bench

import (
	"context"
	"fmt"
	"math/bits"
	"slices"

	"heddle/fabric"
	"heddle/ib"
	"heddle/mad"
	"heddle/sm/subnet"
	"heddle/umad"
)

// cell is a block of a switch's multicast table, as one SMP carries it.
type cell struct {
	node     fabric.NodeID
	modifier uint32 // as mad.MulticastModifier has it
}

// cells are the blocks that are not empty.
type cells map[cell]mad.MulticastForwarding

// readMFTs reads the multicast tables of all switches up to an MLID.
func readMFTs(ctx context.Context, port *umad.Port, view *subnet.View, last ib.MLID) (cells, error) {
	var wanted []cell
	for _, id := range view.Fabric.Switches() {
		for position := range uint8(view.Fabric.Node(id).NumPorts/16 + 1) {
			for block := range uint16(last-ib.FirstMLID)/32 + 1 {
				wanted = append(wanted, cell{id, mad.MulticastModifier(block, position)})
			}
		}
	}
	take := func() (c cell, ok bool) {
		if len(wanted) == 0 {
			return c, false
		}
		c, wanted = wanted[0], wanted[1:]
		return c, true
	}
	request := func(c cell) subnet.Request {
		n := view.Nodes[c.node]
		return subnet.Request{Node: n, Path: n.Path, Method: mad.MethodGet, Attr: mad.AttrMulticastForwarding, Modifier: c.modifier}
	}
	all := cells{}
	done := func(c cell, d *mad.Datagram, err error) error {
		if err == nil && d.Status() != mad.StatusOK {
			err = fmt.Errorf("status %v", d.Status())
		}
		if err != nil {
			return fmt.Errorf("multicast table of %s: %w", view.Nodes[c.node].Label(), err)
		}
		masks, err := mad.ParseMulticastForwarding(d.Data())
		if err == nil && masks != (mad.MulticastForwarding{}) {
			all[c] = masks
		}
		return err
	}
	_, err := subnet.Exchange(ctx, port, subnet.Options{}, take, request, done)
	return all, err
}

// changes counts the blocks that differ.
func (c cells) changes(before cells) (n int) {
	for at, masks := range c {
		if before[at] != masks {
			n++
		}
	}
	for at := range before {
		if _, ok := c[at]; !ok {
			n++
		}
	}
	return n
}

// has tells whether a packet to the MLID leaves by a switch's port.
func (c cells) has(at fabric.End, mlid ib.MLID) bool {
	index := uint16(mlid - ib.FirstMLID)
	masks := c[cell{at.Node, mad.MulticastModifier(index/32, uint8(at.Port/16))}]
	return masks[index%32]>>(at.Port%16)&1 != 0
}

// load is how the trees lie on the links between switches.
type load struct {
	max   int // trees on the worst link: the maximum EFI
	links int // that have a tree
}

func (c cells) load(f *fabric.Fabric, mlids []ib.MLID) (l load) {
	counted := map[ib.MLID]bool{}
	for _, mlid := range mlids {
		counted[mlid] = true
	}
	trees := map[fabric.LinkID]int{}
	for at, masks := range c {
		block, position := mad.SplitMulticastModifier(at.modifier)
		for row, mask := range masks {
			mlid := ib.FirstMLID + ib.MLID(block)*ib.MLID(len(masks)) + ib.MLID(row)
			for ; counted[mlid] && mask != 0; mask &= mask - 1 {
				here := fabric.End{Node: at.node, Port: uint16(position)*16 + uint16(bits.TrailingZeros16(mask))}
				if id, ok := c.first(f, here, mlid); ok {
					trees[id]++
				}
			}
		}
	}
	for _, n := range trees {
		l.max = max(l.max, n)
	}
	l.links = len(trees)
	return l
}

// first is the link between switches behind a port that an MLID leaves by, if
// the port is the one of its two by which the link is counted.
func (c cells) first(f *fabric.Fabric, at fabric.End, mlid ib.MLID) (id fabric.LinkID, ok bool) {
	peer, ok := f.Peer(at)
	if !ok || f.Node(peer.Node).Kind != fabric.Switch {
		return id, false
	}
	id = f.Port(at).Link
	return id, f.Link(id).A == at || !c.has(peer, mlid)
}

// check walks from a member and finds what is wrong: a switch that is come to
// twice, or members that are not those of the group.
func (c cells) check(f *fabric.Fabric, members []fabric.End, mlid ib.MLID) error {
	start, ok := f.Leaf(members[0])
	if !ok {
		return fmt.Errorf("%s has no switch", f.EndLabel(members[0]))
	}
	seen := map[fabric.NodeID]bool{start.Node: true}
	var reached []fabric.End
	type arrival struct{ at, by fabric.End }
	for queue := []arrival{{at: start}}; len(queue) > 0; queue = queue[1:] {
		for from, peer := range f.Ports(queue[0].at.Node) {
			switch {
			case !c.has(from, mlid) || from == queue[0].by:
			case f.Node(peer.Node).Kind != fabric.Switch:
				reached = append(reached, peer)
			case seen[peer.Node]:
				return fmt.Errorf("MLID %v comes to %s twice", mlid, f.Node(peer.Node).Name)
			default:
				seen[peer.Node] = true
				queue = append(queue, arrival{peer, peer})
			}
		}
	}
	want := slices.Clone(members)
	byPlace := func(a, b fabric.End) int {
		return int(a.Node-b.Node)*(1<<16) + int(a.Port) - int(b.Port)
	}
	slices.SortFunc(want, byPlace)
	slices.SortFunc(reached, byPlace)
	if !slices.Equal(want, reached) {
		return fmt.Errorf("MLID %v comes to %d ports, and %d are members", mlid, len(reached), len(want))
	}
	return nil
}

package plan

import (
	"heddle/mad"
	"heddle/route"
	"heddle/sm/subnet"
)

// Unicast is the stages that write the forwarding tables of the switches: their
// tops, and the blocks that they do not hold.
func Unicast(v *subnet.View, t *route.LFTs, h *Held) []Stage {
	top := uint16(t.LIDs.Top())
	tops, blocks := Stage{Name: "lft-top"}, Stage{Name: "lft"}
	for vertex, table := range t.Tables {
		n := v.Nodes[t.Graph.Node(int32(vertex))]
		held := h.Switch(n.GUID())
		if n.Switch.LinearFDBTop != top {
			info := n.Switch
			info.LinearFDBTop, info.PortStateChange = top, false
			tops.SMPs = append(tops.SMPs, set(n, 0, mad.AttrSwitchInfo, 0, info))
		}
		blocks.SMPs = appendBlocks(blocks.SMPs, n, table, held)
	}
	return []Stage{tops, blocks}
}

// Unread lists the blocks of the forwarding tables that switches forward by, up
// to their LinearFDBTop, and of which it is not known what is in them. A manager
// that reads them first leaves alone what another one wrote there. Switches that
// do not answer are left out, and so are those that forward nothing yet.
func Unread(v *subnet.View, t *route.LFTs, h *Held) (list []Block) {
	for vertex, table := range t.Tables {
		n := v.Nodes[t.Graph.Node(int32(vertex))]
		if n.Stale > 0 || n.Switch.LinearFDBTop == 0 {
			continue
		}
		held := h.Switch(n.GUID()).LFT
		filled := min(len(table), int(n.Switch.LinearFDBTop)+1)
		for block := 0; block*len(mad.LinearForwarding{}) < filled; block++ {
			if block >= len(held) || held[block] == nil {
				list = append(list, Block{n, mad.AttrLinearForwarding, uint32(block)})
			}
		}
	}
	return list
}

// appendBlocks appends the blocks of a table that the switch is not known to
// hold.
func appendBlocks(list []SMP, n *subnet.Node, table route.LFT, held *Switch) []SMP {
	for first := 0; first < len(table); first += len(mad.LinearForwarding{}) {
		var want mad.LinearForwarding
		copied := copy(want[:], table[first:])
		for i := copied; i < len(want); i++ {
			want[i] = mad.NoPort
		}
		block := first / len(want)
		if block < len(held.LFT) && held.LFT[block] != nil && *held.LFT[block] == want {
			continue
		}
		list = append(list, set(n, 0, mad.AttrLinearForwarding, uint32(block), want))
	}
	return list
}

package sm

import (
	"slices"

	"heddle/mad"
	"heddle/sm/plan"
	"heddle/sm/subnet"
)

// missed is what switches did not take of a stage of their multicast tables. The
// next stage may follow for other MLIDs only: for these, a packet could loop. A
// block is the same MLIDs in each switch.
type missed struct {
	blocks map[uint16]bool
	nodes  map[*subnet.Node]bool // whose MulticastFDBTop must not grow
}

func (x *missed) add(list []*plan.SMP) {
	if x.blocks == nil {
		x.blocks, x.nodes = map[uint16]bool{}, map[*subnet.Node]bool{}
	}
	for _, q := range list {
		x.nodes[q.Node] = true
		if q.Attr == mad.AttrMulticastForwarding {
			block, _ := mad.SplitMulticastModifier(q.Modifier)
			x.blocks[block] = true
		}
	}
}

// without is what may follow of a stage.
func (x *missed) without(s plan.Stage) plan.Stage {
	if len(x.nodes) == 0 {
		return s
	}
	s.SMPs = slices.DeleteFunc(s.SMPs, func(q plan.SMP) bool {
		if q.Attr != mad.AttrMulticastForwarding {
			return x.nodes[q.Node]
		}
		block, _ := mad.SplitMulticastModifier(q.Modifier)
		return x.blocks[block]
	})
	return s
}

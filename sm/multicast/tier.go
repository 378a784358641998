package multicast

import (
	"fmt"
	"slices"

	"heddle/fabric"
	"heddle/ib"
	"heddle/route"
)

// tier is the fabric for the MLIDs from one table size to the next: without the
// switches whose tables end below them.
type tier struct {
	from    int // the first MLID index, which is the largest table left out
	g       *route.Graph
	h       *route.Hops
	finder  route.Finder
	routers []route.Router // by engine; nil where not made
}

func newTier(from int, g *route.Graph, h *route.Hops, engines int) *tier {
	return &tier{from: from, g: g, h: h, finder: route.NewFinder(h), routers: make([]route.Router, engines)}
}

// makeTiers makes the tiers of a graph, the first with its hop table.
func (r *Router) makeTiers(g *route.Graph, h *route.Hops) ([]*tier, error) {
	tiers := []*tier{newTier(0, g, h, len(r.cfg.Engines))}
	f := g.Fabric()
	for _, size := range tableSizes(f) {
		var small []fabric.NodeID
		for _, id := range f.Switches() {
			if tableSize(f.Node(id)) <= size {
				small = append(small, id)
			}
		}
		above := g.On(f.Without(small, nil))
		hops, err := route.NewHops(above, r.cfg.Workers)
		if err != nil {
			return nil, fmt.Errorf("multicast above MLID %v: %w", mlidOf(size), err)
		}
		tiers = append(tiers, newTier(size, above, hops, len(r.cfg.Engines)))
	}
	return tiers, nil
}

// tableSizes lists the sizes of tables that end below the last MLID, without
// those of switches that have none, in ascending order.
func tableSizes(f *fabric.Fabric) (sizes []int) {
	seen := map[int]bool{0: true, ib.NumMLIDs: true}
	for _, id := range f.Switches() {
		if n := tableSize(f.Node(id)); !seen[n] && f.NodeUp(id) {
			seen[n] = true
			sizes = append(sizes, n)
		}
	}
	slices.Sort(sizes)
	return sizes
}

// tableSize is the number of MLIDs that a switch can forward.
func tableSize(n fabric.Node) int {
	if n.MulticastCap == fabric.CapUnknown {
		return ib.NumMLIDs
	}
	return min(int(n.MulticastCap), ib.NumMLIDs)
}

// tier is that of an MLID.
func (r *Router) tier(idx int) *tier { return tierFor(r.tiers, idx) }

func tierFor(tiers []*tier, idx int) *tier {
	at := 0
	for at+1 < len(tiers) && tiers[at+1].from <= idx {
		at++
	}
	return tiers[at]
}

// whyNot tells why a switch is not in the tier.
func (t *tier) whyNot(f *fabric.Fabric, id fabric.NodeID) string {
	n := f.Node(id)
	if n.MulticastCap == 0 {
		return fmt.Sprintf("its switch %s cannot multicast", n.Label())
	}
	return fmt.Sprintf("its switch %s can forward %d groups only", n.Label(), n.MulticastCap)
}

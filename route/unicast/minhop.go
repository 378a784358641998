package unicast

import "heddle/route"

// minhop allows all paths of fewest hops, as OpenSM's default engine. On
// fabrics with loops, such as a torus, it can deadlock.
func minhop(g *route.Graph, h *route.Hops, lids *route.LIDs, o Options) (*route.LFTs, error) {
	return balance(g, lids, o.Workers, shortest(g, h))
}

// shortest chooses all exits on paths of fewest hops.
func shortest(g *route.Graph, h *route.Hops) chooser {
	return func(v, leaf int32, list []route.Arc) []route.Arc {
		row := h.To(leaf)
		if row[v] == route.Far {
			return list
		}
		for _, a := range g.Up(v) {
			if row[a.To]+1 == row[v] {
				list = append(list, a)
			}
		}
		return list
	}
}

package multicast

import "heddle/route"

// minihop is MINIHOP-MC, OpenSM's default (paper, algorithm 1): top-down from
// the root; each switch puts each member behind its lowest-numbered port of
// fewest hops. Since that is always the same port, two members that could share
// a port do, and no loop can form. A walk from the root for each leaf makes the
// same tree as the recursion over the ports' shares.
type minihop struct {
	workspace
	root chooser
}

func newMinihop(g *route.Graph, h *route.Hops, _ Options) route.Router {
	return &minihop{newWorkspace(g, h), firstRoot}
}

func newMinihopNew(g *route.Graph, h *route.Hops, _ Options) route.Router {
	return &minihop{newWorkspace(g, h), leastUsedRoot}
}

func (m *minihop) Route(s *route.State, leaves []int32, c route.Centers) route.Tree {
	root := m.root(c, s.Through())
	m.begin(root)
	for _, leaf := range leaves {
		m.walk(root, leaf)
	}
	return route.Tree{Root: root, Edges: m.edges}
}

func (m *minihop) walk(x, leaf int32) {
	row := m.h.From(leaf)
	for x != leaf {
		for _, a := range m.g.Down(x) {
			if row[a.To]+1 != row[x] {
				continue
			}
			if !m.has(a.To) {
				m.add(a.To, a.Edge)
			}
			x = a.To
			break
		}
	}
}

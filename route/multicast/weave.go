package multicast

import "heddle/route"

func newWeave(g *route.Graph, h *route.Hops, o Options) route.Router { return newFULB(g, h, o) }

package collective

import "sync/atomic"

// Stats are what a rank counted, in chunks where nothing else is said.
type Stats struct {
	// Datagrams are what it sent to the multicast group, Received what came from it,
	// Duplicates what came once more, or after it was READ.
	Datagrams, Received, Duplicates uint64
	// FromNeighbour and FromRoot came by READs, of which there were Reads.
	FromNeighbour, FromRoot, Reads uint64
	// Probes are READs of how far a root is, Tails WRITEs of how far this rank is.
	Probes, Tails uint64
	// Evicted are the readers that this rank gave up on.
	Evicted uint64
	// Reconnects are connections that had ended, and were made anew.
	Reconnects uint64
}

type counters struct {
	datagrams, received, duplicates atomic.Uint64
	fromNeighbour, fromRoot, reads  atomic.Uint64
	probes, tails, evicted          atomic.Uint64
	reconnects                      atomic.Uint64
}

// Stats gives the counts so far. It may be called by any goroutine.
func (g *Group) Stats() Stats {
	c := &g.stats
	return Stats{
		c.datagrams.Load(), c.received.Load(), c.duplicates.Load(), c.fromNeighbour.Load(), c.fromRoot.Load(), c.reads.Load(),
		c.probes.Load(), c.tails.Load(), c.evicted.Load(), c.reconnects.Load(),
	}
}

// Plus is the sum of both.
func (s Stats) Plus(t Stats) Stats {
	return Stats{
		s.Datagrams + t.Datagrams, s.Received + t.Received, s.Duplicates + t.Duplicates,
		s.FromNeighbour + t.FromNeighbour, s.FromRoot + t.FromRoot, s.Reads + t.Reads,
		s.Probes + t.Probes, s.Tails + t.Tails, s.Evicted + t.Evicted, s.Reconnects + t.Reconnects,
	}
}

// Minus is what was counted since t.
func (s Stats) Minus(t Stats) Stats {
	return Stats{
		s.Datagrams - t.Datagrams, s.Received - t.Received, s.Duplicates - t.Duplicates,
		s.FromNeighbour - t.FromNeighbour, s.FromRoot - t.FromRoot, s.Reads - t.Reads,
		s.Probes - t.Probes, s.Tails - t.Tails, s.Evicted - t.Evicted, s.Reconnects - t.Reconnects,
	}
}

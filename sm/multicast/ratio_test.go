package multicast_test

import (
	"math/rand/v2"
	"testing"

	"heddle/fabric"
	"heddle/ib"
	"heddle/sm/group"
)

// TestSetsForEachCell: joins and leaves take one Set for each block that changes,
// also when they come together; trees that move take a few more, and not twice
// as many.
func TestSetsForEachCell(t *testing.T) {
	f := generate(t, "fat-tree:k=8")
	rng := rand.New(rand.NewPCG(1, 0))
	hosts := len(f.EndPorts())
	w := newWorld(t, f, engine(t, "weave", 1))
	var all []ib.MLID
	for i, l := range draws(200, 6, hosts).groups {
		mlid := first + ib.MLID(i)
		all = append(all, mlid)
		w.groups[mlid] = group.Ports{Receivers: w.gids(l)}
	}
	w.r.Update(group.Batch{Changed: all}, w.groups)
	w.program()
	w.sets, w.cells = 0, 0
	ratio := func(what string, most float64) {
		t.Helper()
		r := float64(w.sets) / float64(w.cells)
		t.Logf("%s: %d Sets for %d cells: %.2f", what, w.sets, w.cells, r)
		if r > most {
			t.Errorf("%s: %.2f Sets for each cell, want at most %.2f", what, r, most)
		}
		w.judge(t)
		w.sets, w.cells = 0, 0
	}
	for range 20 {
		for range 50 { // joins, and the port that is longest in the group leaves
			mlid := all[rng.IntN(len(all))]
			list := w.groups[mlid].Receivers
			list = append(list[rng.IntN(2):len(list):len(list)], w.gids([]int{rng.IntN(hosts)})...)
			w.groups[mlid] = group.Ports{Receivers: unique(list)}
		}
		w.r.Update(group.Batch{Changed: all}, w.groups)
		w.program()
	}
	ratio("churn", 1.1)
	for i := range 20 {
		w.see(rebuilt(f.Without(nil, []fabric.LinkID{fabric.LinkID(i * 7)})))
		w.program()
	}
	ratio("links", 1.6)
	w.r.Reroute()
	w.program()
	ratio("reroute", 2)
}

func unique(list []ib.GID) (kept []ib.GID) {
	seen := map[ib.GID]bool{}
	for _, gid := range list {
		if !seen[gid] {
			seen[gid] = true
			kept = append(kept, gid)
		}
	}
	return kept
}

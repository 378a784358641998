package topology

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"

	"heddle/fabric"
	"heddle/fabric/internal/spec"
)

var randomKind = kind{
	name: "random",
	usage: `random:switches=N[,degree=4][,hosts=1][,seed=1]
A random connected fabric, for tests: N switches, each with end nodes and cables
to at most degree others, never two to the same.`,
	parse: parseRandom,
}

// random is a random tree with random cables added.
type random struct {
	switches, degree, hosts int
	seed                    uint64
}

func parseRandom(a *spec.Args) shape {
	r := random{
		switches: a.Need("switches", 1, maxNodes),
		degree:   a.Int("degree", 4, 1, fabric.MaxPorts-1),
		hosts:    a.Int("hosts", 1, 1, fabric.MaxPorts-1),
		seed:     a.Seed("seed", 1),
	}
	if r.degree == 1 && r.switches > 2 {
		a.Failf("degree", "more than two switches need 2 to hold together")
	}
	return r
}

func (r random) size() size {
	degree := min(r.degree, r.switches-1)
	return size{
		switches: r.switches, cables: product(r.switches, degree) / 2,
		hosts: product(r.switches, r.hosts), ports: degree + r.hosts,
	}
}

func (r random) wire(w *wiring) {
	for i := range r.switches {
		w.add(fmt.Sprintf("switch-%0*d", digits(r.switches), i), 0, r.hosts)
	}
	rng := rand.New(rand.NewPCG(r.seed, 1))
	pairs := r.chords(rng, r.tree(rng))
	slices.SortFunc(pairs, func(x, y [2]int32) int {
		return cmp.Or(cmp.Compare(x[0], y[0]), cmp.Compare(x[1], y[1]))
	})
	for _, p := range pairs {
		w.join(int(p[0]), int(p[1]))
	}
}

// tree joins the switches, in random order, each to an earlier one that has
// room: with a degree of 2 or more there always is one.
func (r random) tree(rng *rand.Rand) [][2]int32 {
	var pairs [][2]int32
	left := make([]int, r.switches)
	var open []int32 // those in the tree that have room
	for n, s := range rng.Perm(r.switches) {
		left[s] = r.degree
		if n > 0 {
			i := rng.IntN(len(open))
			other := open[i]
			pairs = append(pairs, ordered(int32(s), other))
			left[s]--
			if left[other]--; left[other] == 0 {
				open[i] = open[len(open)-1]
				open = open[:len(open)-1]
			}
		}
		if left[s] > 0 {
			open = append(open, int32(s))
		}
	}
	return pairs
}

// chords adds cables between switches that have room, a few random matchings
// of the free places; a pair that is joined already is left out.
func (r random) chords(rng *rand.Rand, pairs [][2]int32) [][2]int32 {
	left := make([]int, r.switches)
	for i := range left {
		left[i] = r.degree
	}
	joined := map[[2]int32]bool{}
	for _, p := range pairs {
		joined[p] = true
		left[p[0]]--
		left[p[1]]--
	}
	for range 4 {
		places := freePlaces(left)
		rng.Shuffle(len(places), func(i, j int) { places[i], places[j] = places[j], places[i] })
		for i := 0; i+1 < len(places); i += 2 {
			p := ordered(places[i], places[i+1])
			if p[0] == p[1] || joined[p] {
				continue
			}
			joined[p] = true
			left[p[0]]--
			left[p[1]]--
			pairs = append(pairs, p)
		}
	}
	return pairs
}

// freePlaces lists each switch as often as it has room for a cable.
func freePlaces(left []int) []int32 {
	var places []int32
	for s, n := range left {
		for range n {
			places = append(places, int32(s))
		}
	}
	return places
}

func ordered(a, b int32) [2]int32 { return [2]int32{min(a, b), max(a, b)} }

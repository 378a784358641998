package multicast

import (
	"testing"
	"time"

	"heddle/fabric/pattern"
	"heddle/fabric/topology"
	"heddle/route"
)

// scene is a fabric with groups, ready to be routed.
type scene struct {
	g *route.Graph
	h *route.Hops
	d *route.Demand
}

func newScene(t testing.TB, fabric, groups string) scene {
	t.Helper()
	f, err := topology.Generate(fabric)
	if err != nil {
		t.Fatal(err)
	}
	g := route.NewGraph(f, route.Selection{MulticastOnly: true})
	h, err := route.NewHops(g, 1)
	if err != nil {
		t.Fatal(err)
	}
	list, err := pattern.Generate(f, groups)
	if err != nil {
		t.Fatal(err)
	}
	return scene{g, h, route.NewDemand(g, list)}
}

func (s scene) route(t testing.TB, engine string, effort int) *route.State {
	t.Helper()
	e, err := Lookup(engine)
	if err != nil {
		t.Fatal(err)
	}
	st := route.NewState(s.g, s.h)
	if _, err := route.All(st, s.d, route.NewFinder(s.h), e.New(s.g, s.h, Options{Effort: effort}), time.Now); err != nil {
		t.Fatal(err)
	}
	return st
}

func uses(s *route.State) (n int) {
	for _, l := range s.Load() {
		n += int(l)
	}
	return n
}

// TestWeaveIsBest: no engine has a lower maximum EFI, and more effort never a
// higher one.
func TestWeaveIsBest(t *testing.T) {
	for _, c := range [][2]string{
		{"fat-tree:k=8", "grid:16x8,order=oblivious"},
		{"fat-tree:k=8", "grid:8x4x4"},
		{"torus:8x6x5,e=1", "grid:24x10,order=oblivious"},
		{"torus:6x6x6,e=2", "random:150x8"},
		{"dragonfly:a=6,p=3,h=3", "grid:19x18,order=oblivious"},
		{"trimmed:supernodes=10,leaves=4,hosts=4,mids=4,tops=2,planes=2", "grid:16x10,order=oblivious"},
	} {
		t.Run(c[0]+" "+c[1], func(t *testing.T) {
			s := newScene(t, c[0], c[1])
			first := s.route(t, "weave", 1)
			for _, e := range Engines() {
				if st := s.route(t, e.Name, 1); st.Top() < first.Top() {
					t.Errorf("%s has maximum EFI %d, weave %d", e.Name, st.Top(), first.Top())
				}
			}
			fulb := s.route(t, "fulb", 1)
			if float64(uses(first)) > 1.001*float64(uses(fulb)) {
				t.Errorf("weave uses links %d times, fulb %d", uses(first), uses(fulb))
			}
			for effort := 2; effort <= 3; effort++ {
				if st := s.route(t, "weave", effort); st.Top() > first.Top() {
					t.Errorf("effort %d has maximum EFI %d, effort 1 has %d", effort, st.Top(), first.Top())
				}
			}
		})
	}
}

// TestNoAllocs: once warm, an engine allocates nothing for a group.
func TestNoAllocs(t *testing.T) {
	s := newScene(t, "fat-tree:k=8", "grid:16x8,order=oblivious")
	for _, e := range Engines() {
		t.Run(e.Name, func(t *testing.T) {
			st := s.route(t, e.Name, 1)
			f, r := route.NewFinder(s.h), e.New(s.g, s.h, Options{})
			all := func() {
				for i := range s.d.NumGroups() {
					if leaves := s.d.Leaves(i); len(leaves) > 1 {
						st.Take(i)
						st.Put(i, r.Route(st, leaves, f.Find(leaves)))
					}
				}
			}
			for range 5 {
				all() // trees grow into room of their own, once
			}
			if n := testing.AllocsPerRun(5, all); n > 0 {
				t.Errorf("%v allocations for %d groups", n, s.d.NumGroups())
			}
		})
	}
}

func BenchmarkRoute(b *testing.B) {
	s := newScene(b, "fat-tree:k=20", "grid:20x10x10,order=oblivious")
	for _, e := range Engines() {
		b.Run(e.Name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				s.route(b, e.Name, 1)
			}
			b.ReportMetric(float64(s.d.NumGroups()), "groups/op")
		})
	}
}

package topology

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"heddle/fabric"
	"heddle/fabric/internal/spec"
)

// Limits of what is generated: several times the largest fabric that anybody
// routes, and what a small machine can hold.
const (
	maxNodes  = 1 << 20
	maxCables = 1 << 22
)

// size is how large a form is; cables are those between switches.
type size struct {
	switches, cables, hosts int
	// ports is the largest number of ports of a switch.
	ports int
	// beyond is true for a model whose switches may have more ports than
	// InfiniBand can number.
	beyond bool
}

func (s size) check() error {
	most := fabric.MaxPorts
	if s.beyond {
		most = math.MaxUint16
	}
	switch {
	case s.ports > most:
		return fmt.Errorf("a switch would have %d ports, %d are possible", s.ports, most)
	case s.switches > maxNodes || s.hosts > maxNodes || s.switches+s.hosts > maxNodes:
		return fmt.Errorf("%d switches and %d end nodes are too many: %d together are the limit",
			s.switches, s.hosts, maxNodes)
	case s.cables > maxCables:
		return fmt.Errorf("%d cables between switches are too many: %d are the limit", s.cables, maxCables)
	}
	return nil
}

// wiring is the plan of a fabric: switches, cables between them, hosts.
type wiring struct {
	names  []string
	used   []uint16 // by switch: its highest port so far
	hosts  []uint16 // by switch: the end nodes on it
	cables []cable
	total  int // end nodes
}

// cable joins port pa of switch a to port pb of switch b.
type cable struct {
	a, b   int32
	pa, pb uint16
}

func newWiring(s size) *wiring {
	return &wiring{
		names:  make([]string, 0, s.switches),
		used:   make([]uint16, 0, s.switches),
		hosts:  make([]uint16, 0, s.switches),
		cables: make([]cable, 0, s.cables),
	}
}

// add makes the next switch, with end nodes and with ports below which no end
// node is put.
func (w *wiring) add(name string, ports, hosts int) {
	w.names = append(w.names, name)
	w.used = append(w.used, uint16(ports))
	w.hosts = append(w.hosts, uint16(hosts))
	w.total += hosts
}

// join cables the next port of a to the next port of b. Forms call it in
// ascending order of a, then b, which makes all ports ascend by neighbour.
func (w *wiring) join(a, b int) {
	w.used[a]++
	w.used[b]++
	w.joinAt(a, int(w.used[a]), b, int(w.used[b]))
}

// joinAt cables two ports that were reserved by add.
func (w *wiring) joinAt(a, pa, b, pb int) {
	w.cables = append(w.cables, cable{a: int32(a), b: int32(b), pa: uint16(pa), pb: uint16(pb)})
}

// lose takes out a share of the cables, rounded to the nearest number.
func (w *wiring) lose(share float64, seed uint64) {
	n := len(w.cables)
	lost := int(math.Round(share * float64(n)))
	if lost == 0 {
		return
	}
	dead := make([]bool, n)
	for _, i := range rand.New(rand.NewPCG(seed, 0)).Perm(n)[:lost] {
		dead[i] = true
	}
	i := -1
	w.cables = slices.DeleteFunc(w.cables, func(cable) bool {
		i++
		return dead[i]
	})
}

// digits is the width of the largest of n numbers from 0.
func digits(n int) int { return len(fmt.Sprint(max(n-1, 0))) }

// product is spec.Product, under a name that the forms can say shortly.
func product(sizes ...int) int { return spec.Product(sizes...) }

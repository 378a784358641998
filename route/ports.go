package route

import (
	"iter"
	"math/bits"

	"heddle/fabric"
)

// MaxSetPort is the highest port that a PortSet can hold. InfiniBand ends at
// port 254; models of switches built of several chips, which the FULB-MC paper
// has, go beyond.
const MaxSetPort = 383

// PortSet is a set of the ports of one switch, 0 to MaxSetPort; port 0 is the
// switch's own. It is the value of a multicast forwarding table.
type PortSet [(MaxSetPort + 1) / 64]uint64

// Add adds a port.
func (s *PortSet) Add(port uint16) { s[port>>6] |= 1 << (port & 63) }

// Has tells whether a port is in the set.
func (s *PortSet) Has(port uint16) bool { return s[port>>6]>>(port&63)&1 != 0 }

// Len is the number of ports.
func (s *PortSet) Len() (n int) {
	for _, w := range s {
		n += bits.OnesCount64(w)
	}
	return n
}

// All yields the ports in ascending order.
func (s PortSet) All() iter.Seq[uint16] {
	return func(yield func(uint16) bool) {
		for i, w := range s {
			for ; w != 0; w &= w - 1 {
				if !yield(uint16(i*64 + bits.TrailingZeros64(w))) {
					return
				}
			}
		}
	}
}

// slots numbers the ports of all switches of a graph, port 0 included, so that
// tables by port need no maps.
type slots struct {
	g     *Graph
	first []int32 // by vertex: the slot of its port 0; one more at the end
}

func newSlots(g *Graph) slots {
	s := slots{g, make([]int32, g.NumVertices()+1)}
	for v, id := range g.nodes {
		s.first[v+1] = s.first[v] + int32(g.f.Node(id).NumPorts) + 1
	}
	return s
}

func (s slots) len() int { return int(s.first[len(s.first)-1]) }

// of is the slot of a port of a switch.
func (s slots) of(e fabric.End) int32 { return s.first[s.g.vertex[e.Node]] + int32(e.Port) }

// leaf is the slot that a member hangs on: its own for a switch, that at the
// other end of the cable for an adapter, -1 where there is none.
func (s slots) leaf(m fabric.End) int32 {
	leaf, ok := s.g.f.Leaf(m)
	if !ok {
		return -1
	}
	return s.of(leaf)
}

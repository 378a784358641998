package fabric

import (
	"math/bits"
	"slices"
)

// bitset is a set of small integers; nil is empty.
type bitset []uint64

func (s bitset) has(i int) bool {
	return s != nil && s[i>>6]>>(i&63)&1 != 0
}

// Without is the fabric after the nodes and links died. A link is also down
// when one of its nodes is. Indices keep their meaning. Cost: one bit for each
// node and link.
func (f *Fabric) Without(nodes []NodeID, links []LinkID) *Fabric {
	return f.changed(nodes, links, true)
}

// With is the fabric after nodes and links that Without took out came back.
func (f *Fabric) With(nodes []NodeID, links []LinkID) *Fabric {
	return f.changed(nodes, links, false)
}

func (f *Fabric) changed(nodes []NodeID, links []LinkID, dead bool) *Fabric {
	g := *f
	g.deadNodes = marked(f.deadNodes, len(f.nodes), nodes, dead)
	g.deadLinks = marked(f.deadLinks, len(f.links), links, dead)
	return &g
}

func marked[ID ~int32](old bitset, n int, ids []ID, set bool) bitset {
	if len(ids) == 0 {
		return old
	}
	s := slices.Clone(old)
	if s == nil {
		s = make(bitset, (n+63)/64)
	}
	for _, id := range ids {
		if set {
			s[id>>6] |= 1 << (id & 63)
		} else {
			s[id>>6] &^= 1 << (id & 63)
		}
	}
	return s
}

// Diff lists the nodes and links that are alive in one of f and old and dead in
// the other; both are of one family, made by Without and With. A link is listed
// for its own sake only, not for a node's. Cost: one bit for each node and link.
func (f *Fabric) Diff(old *Fabric) (nodes []NodeID, links []LinkID) {
	return differing[NodeID](f.deadNodes, old.deadNodes), differing[LinkID](f.deadLinks, old.deadLinks)
}

func differing[ID ~int32](a, b bitset) (ids []ID) {
	for i := range max(len(a), len(b)) {
		for w := a.word(i) ^ b.word(i); w != 0; w &= w - 1 {
			ids = append(ids, ID(i*64+bits.TrailingZeros64(w)))
		}
	}
	return ids
}

// word is a word of the set; beyond its end it is empty.
func (s bitset) word(i int) uint64 {
	if i >= len(s) {
		return 0
	}
	return s[i]
}

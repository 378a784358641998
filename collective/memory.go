package collective

import (
	"fmt"

	"heddle/verbs"
)

// layout is how the memory of a rank is divided.
type layout struct {
	rings   part // of all roots, by index
	haves   part // a mark for each root, how many of its chunks are here; and one that the group is ready
	tails   part // a mark of each rank, how many chunks of this root it is past
	buffers part // of datagrams
	marks   part // for each root: the mark that is told as tail, and one that was asked for
	notice  part // a slot
}

const grh = verbs.GRHSize

// allocate makes the memory of a rank, and registers it.
func (g *Group) allocate(depth int) (err error) {
	roots, slot := len(g.cfg.Roots), g.cfg.Chunk
	sizes := []int{
		roots * g.cfg.Slots * slot, (roots + 1) * markSize, g.size * markSize,
		depth * (grh + slot), roots*2*markSize + 2*markSize, slot,
	}
	total := 0
	for i := range sizes {
		sizes[i] = (sizes[i] + 63) &^ 63
		total += sizes[i]
	}
	if g.memory, err = verbs.NewMemory(total); err != nil {
		return fmt.Errorf("memory of %d rings: %w", roots, err)
	}
	if g.mr, err = g.pd.RegisterMR(g.memory, verbs.LocalWrite|verbs.RemoteRead|verbs.RemoteWrite); err != nil {
		return fmt.Errorf("register %d bytes: %w", total, err)
	}
	all, from := part{g.mr, 0, g.memory.Bytes()}, 0
	for i, p := range []*part{&g.rings, &g.haves, &g.tails, &g.buffers, &g.marks, &g.notice} {
		*p = all.slice(from, sizes[i])
		from += sizes[i]
	}
	return nil
}

// ringOf is the ring of the root with an index.
func (g *Group) ringOf(index int) part {
	n := g.cfg.Slots * g.cfg.Chunk
	return g.rings.slice(index*n, n)
}

// slotSet is a set of the chunks of a ring.
type slotSet []uint64

func newSlotSet(n int) slotSet { return make(slotSet, (n+63)/64) }

func (b slotSet) has(i uint64) bool { return b[i/64]&(1<<(i%64)) != 0 }
func (b slotSet) set(i uint64)      { b[i/64] |= 1 << (i % 64) }
func (b slotSet) clear(i uint64)    { b[i/64] &^= 1 << (i % 64) }

package multicast

import (
	"cmp"

	"heddle/mad"
	"heddle/route"
)

// rows is how many MLIDs are in a block.
const rows = len(mad.MulticastForwarding{})

// cell is a block of a switch's table, for 16 of its ports: what one Set writes.
type cell struct {
	vertex   int32
	position uint8
	block    uint16
	dirty    bool // it may be that the switch does not hold it
	want     mad.MulticastForwarding
}

// tables are what all switches should hold.
type tables struct {
	cells [][][]*cell // by vertex, position and block; nil where it never held anything
	dirty []*cell
	slab  []cell
}

func newTables(g *route.Graph) tables {
	t := tables{cells: make([][][]*cell, g.NumVertices())}
	for v := range t.cells {
		ports := int(g.Fabric().Node(g.Node(int32(v))).NumPorts) + 1
		t.cells[v] = make([][]*cell, (ports+15)/16)
	}
	return t
}

// cell is that of a port of a switch and an MLID. It is made where it was not,
// with those of the switch's other ports: they too decide where a packet goes.
func (t *tables) cell(v int32, position uint8, block uint16) *cell {
	if list := t.cells[v][position]; int(block) < len(list) && list[block] != nil {
		return list[block]
	}
	for p := range t.cells[v] {
		t.add(v, uint8(p), block)
	}
	return t.cells[v][position][block]
}

func (t *tables) add(v int32, position uint8, block uint16) {
	list := t.cells[v][position]
	for len(list) <= int(block) {
		list = append(list, nil)
	}
	t.cells[v][position] = list
	if len(t.slab) == 0 {
		t.slab = make([]cell, 64)
	}
	list[block], t.slab = &t.slab[0], t.slab[1:]
	*list[block] = cell{vertex: v, position: position, block: block}
	t.mark(list[block])
}

// set puts a port into the row of an MLID, or takes it out.
func (t *tables) set(at tap, idx int, on bool) {
	c := t.cell(at.vertex, uint8(at.port/16), uint16(idx/rows))
	bit := uint16(1) << (at.port % 16)
	if on {
		c.want[idx%rows] |= bit
	} else {
		c.want[idx%rows] &^= bit
	}
	t.mark(c)
}

func (t *tables) mark(c *cell) {
	if !c.dirty {
		c.dirty = true
		t.dirty = append(t.dirty, c)
	}
}

// markAll marks all cells: it is not known any more what the switches hold.
func (t *tables) markAll() {
	for v := range t.cells {
		for _, list := range t.cells[v] {
			for _, c := range list {
				if c != nil {
					t.mark(c)
				}
			}
		}
	}
}

// top is the highest MLID index of the blocks that a switch ever held something
// in, -1 for none.
func (t *tables) top(v int32) int {
	blocks := 0
	for _, list := range t.cells[v] {
		blocks = max(blocks, len(list))
	}
	return blocks*rows - 1
}

// compare orders cells by block, so that the Sets of a stage are spread over the
// switches.
func compare(a, b *cell) int {
	return cmp.Or(cmp.Compare(a.block, b.block), cmp.Compare(a.position, b.position), cmp.Compare(a.vertex, b.vertex))
}

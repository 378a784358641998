package admin

import (
	"encoding/binary"
	"slices"
	"sync/atomic"

	"heddle/ib"
)

// classes are the P_Key tables that ports have. There are few different ones,
// however many ports, so that the partition of two ports is looked for once.
type classes struct {
	list   [][]ib.PKey
	byKeys map[string]int32
	found  []atomic.Uint32 // by the two classes; nil where they are too many
}

const (
	// maxCompared is for how many classes it is kept what two have in common.
	maxCompared = 512
	// isFound marks what is known; the rest is the P_Key, 0 for none.
	isFound = 1 << 16
)

// of is the class of a table.
func (c *classes) of(keys []ib.PKey) int32 {
	if keys == nil {
		keys = []ib.PKey{ib.DefaultPKey}
	}
	text := make([]byte, 0, 2*len(keys))
	for _, k := range keys {
		text = binary.BigEndian.AppendUint16(text, uint16(k))
	}
	if i, ok := c.byKeys[string(text)]; ok {
		return i
	}
	if c.byKeys == nil {
		c.byKeys = map[string]int32{}
	}
	i := int32(len(c.list))
	c.list, c.byKeys[string(text)] = append(c.list, keys), i
	return i
}

// complete is called after the last class.
func (c *classes) complete() {
	if n := len(c.list); n <= maxCompared {
		c.found = make([]atomic.Uint32, n*n)
	}
}

// share tells whether ports of two classes may talk in some partition.
func (c *classes) share(a, b int32) bool {
	_, ok := c.common(a, b)
	return ok
}

// common is the first P_Key of a with which it may talk to b.
func (c *classes) common(a, b int32) (ib.PKey, bool) {
	if c.found == nil {
		k := c.search(a, b)
		return k, k != 0
	}
	found := &c.found[int(a)*len(c.list)+int(b)]
	known := found.Load()
	if known == 0 {
		known = isFound | uint32(c.search(a, b))
		found.Store(known)
	}
	return ib.PKey(known), known != isFound
}

func (c *classes) search(a, b int32) ib.PKey {
	for _, k := range c.list[a] {
		if c.holds(b, k) {
			return k
		}
	}
	return 0
}

// holds tells whether ports of a class may talk to one that uses a P_Key.
func (c *classes) holds(class int32, k ib.PKey) bool {
	return slices.ContainsFunc(c.list[class], k.Matches)
}

// both tells whether ports of two classes may talk in the partition of a P_Key.
func (c *classes) both(a, b int32, k ib.PKey) bool {
	for _, own := range c.list[a] {
		if own.Base() == k.Base() && c.holds(b, own) {
			return true
		}
	}
	return false
}

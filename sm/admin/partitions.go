package admin

import (
	"encoding/binary"
	"slices"

	"heddle/ib"
)

// classes are the P_Key tables that ports have. There are few different ones,
// however many ports, so that whether two ports share a partition is looked up.
type classes struct {
	list   [][]ib.PKey
	byKeys map[string]int32
	shares []bool // by the two classes; nil where they are too many
}

// maxCompared is how many classes are compared beforehand.
const maxCompared = 512

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

// compare compares all classes.
func (c *classes) compare() {
	n := len(c.list)
	if n > maxCompared {
		return
	}
	shares := make([]bool, n*n)
	for a := range n {
		for b := range a + 1 {
			_, ok := c.common(int32(a), int32(b))
			shares[a*n+b], shares[b*n+a] = ok, ok
		}
	}
	c.shares = shares
}

// share tells whether ports of two classes may talk in some partition.
func (c *classes) share(a, b int32) bool {
	if c.shares != nil {
		return c.shares[int(a)*len(c.list)+int(b)]
	}
	_, ok := c.common(a, b)
	return ok
}

// common is the first P_Key of a with which it may talk to b.
func (c *classes) common(a, b int32) (ib.PKey, bool) {
	for _, k := range c.list[a] {
		if c.holds(b, k) {
			return k, true
		}
	}
	return 0, false
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

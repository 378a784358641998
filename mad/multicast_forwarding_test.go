package mad

import (
	"fmt"
	"testing"
)

// diags is of the block of the first 32 MLIDs at a switch of fewer than 16
// ports. ibroute leaves out the MLIDs without ports.
func (t MulticastForwarding) diags() []string {
	var rows []string
	for i, mask := range t {
		if mask == 0 {
			continue
		}
		rows = append(rows, fmt.Sprintf("%#04x      %04x", 0xC000+i, mask))
	}
	return rows
}

func TestMulticastModifier(t *testing.T) {
	for _, c := range []struct {
		block    uint16
		position uint8
		want     uint32
	}{{0, 0, 0}, {511, 0, 511}, {5, 2, 0x20000005}, {511, 15, 0xF00001FF}} {
		if m := MulticastModifier(c.block, c.position); m != c.want {
			t.Errorf("block %d position %d is %#x", c.block, c.position, m)
		}
		if block, position := SplitMulticastModifier(c.want | 0x0FFFFE00); block != c.block || position != c.position {
			t.Errorf("%#x is block %d position %d", c.want, block, position)
		}
	}
}

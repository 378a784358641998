package mad

// MulticastForwarding is a block of a multicast forwarding table: for 32 MLIDs
// the ports among 16, bit n for the n-th of them (IBTA 1, 14.2.5.12).
// MulticastModifier names the block and the 16 ports.
type MulticastForwarding [32]uint16

// MulticastModifier is the attribute modifier of the block of the MLIDs from
// 0xC000 + 32*block, 9 bits, and the ports from 16*position, 4 bits.
func MulticastModifier(block uint16, position uint8) uint32 {
	return uint32(position)<<28 | uint32(block)&0x1FF
}

// SplitMulticastModifier is the inverse of MulticastModifier.
func SplitMulticastModifier(m uint32) (block uint16, position uint8) {
	return uint16(m & 0x1FF), uint8(m >> 28)
}

// ParseMulticastForwarding reads the 64 bytes at the start of b.
func ParseMulticastForwarding(b []byte) (MulticastForwarding, error) {
	var t MulticastForwarding
	if err := need("MulticastForwardingTable", b, t.Len()); err != nil {
		return MulticastForwarding{}, err
	}
	for i := range t {
		t[i] = be.Uint16(b[2*i:])
	}
	return t, nil
}

// Len is 64.
func (t MulticastForwarding) Len() int { return 2 * len(t) }

// AppendTo appends the 64 bytes.
func (t MulticastForwarding) AppendTo(b []byte) []byte {
	for _, mask := range t {
		b = be.AppendUint16(b, mask)
	}
	return b
}

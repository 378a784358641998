package mad

// LinearForwarding is a block of 64 entries of a linear forwarding table: the
// port to each LID, NoPort for none (IBTA 1, 14.2.5.10). The attribute modifier
// is the number of the block.
type LinearForwarding [64]uint8

// NoPort is the entry of a LID that a switch does not forward.
const NoPort uint8 = 255

// ParseLinearForwarding reads the 64 bytes at the start of b.
func ParseLinearForwarding(b []byte) (LinearForwarding, error) {
	if err := need("LinearForwardingTable", b, len(LinearForwarding{})); err != nil {
		return LinearForwarding{}, err
	}
	return LinearForwarding(b), nil
}

// Len is 64.
func (t LinearForwarding) Len() int { return len(t) }

// AppendTo appends the 64 bytes.
func (t LinearForwarding) AppendTo(b []byte) []byte { return append(b, t[:]...) }

package mad

// MlnxExtPortInfo is what ports of one vendor say about FDR10, which the
// specification does not have. The attribute modifier is the number of the
// port. Other devices refuse the attribute.
type MlnxExtPortInfo struct {
	StateChangeEnable  uint8 // in a Set, bit 0: LinkSpeedEnabled is meant
	LinkSpeedSupported MlnxLinkSpeed
	LinkSpeedEnabled   MlnxLinkSpeed
	LinkSpeedActive    MlnxLinkSpeed
}

const mlnxExtPortInfoLen = 16

// ParseMlnxExtPortInfo reads the 16 bytes at the start of b.
func ParseMlnxExtPortInfo(b []byte) (MlnxExtPortInfo, error) {
	if err := need("MlnxExtPortInfo", b, mlnxExtPortInfoLen); err != nil {
		return MlnxExtPortInfo{}, err
	}
	return MlnxExtPortInfo{
		StateChangeEnable: b[3], LinkSpeedSupported: MlnxLinkSpeed(b[7]),
		LinkSpeedEnabled: MlnxLinkSpeed(b[11]), LinkSpeedActive: MlnxLinkSpeed(b[15]),
	}, nil
}

// Len is 16.
func (i MlnxExtPortInfo) Len() int { return mlnxExtPortInfoLen }

// AppendTo appends the 16 bytes.
func (i MlnxExtPortInfo) AppendTo(b []byte) []byte {
	b, p := grow(b, mlnxExtPortInfoLen)
	p[3], p[7] = i.StateChangeEnable, byte(i.LinkSpeedSupported)
	p[11], p[15] = byte(i.LinkSpeedEnabled), byte(i.LinkSpeedActive)
	return b
}

package mad

import "heddle/ib"

// GUIDInfo is a block of a port's GUID table; the attribute modifier is the
// number of the block (IBTA 1, 14.2.5.5). Entry 0 of block 0 is the port's own
// GUID, which no Set changes.
type GUIDInfo [8]ib.GUID

// ParseGUIDInfo reads the 64 bytes at the start of b.
func ParseGUIDInfo(b []byte) (GUIDInfo, error) {
	var g GUIDInfo
	if err := need("GUIDInfo", b, g.Len()); err != nil {
		return GUIDInfo{}, err
	}
	for i := range g {
		g[i] = ib.GUID(be.Uint64(b[8*i:]))
	}
	return g, nil
}

// Len is 64.
func (g GUIDInfo) Len() int { return 8 * len(g) }

// AppendTo appends the 64 bytes.
func (g GUIDInfo) AppendTo(b []byte) []byte {
	for _, guid := range g {
		b = be.AppendUint64(b, uint64(guid))
	}
	return b
}

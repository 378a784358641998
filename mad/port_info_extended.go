package mad

import "fmt"

// FECMode is how a link corrects errors (IBTA 1, 14.2.5.19:
// FECModeActive).
type FECMode uint16

// The modes of error correction.
const (
	FECNone FECMode = iota
	FECFireCode
	FECReedSolomon
	FECLowLatencyReedSolomon
)

// String names the mode.
func (m FECMode) String() string {
	switch m {
	case FECNone:
		return "none"
	case FECFireCode:
		return "FireCode"
	case FECReedSolomon:
		return "RS"
	case FECLowLatencyReedSolomon:
		return "LL-RS"
	default:
		return fmt.Sprintf("FECMode(%d)", uint16(m))
	}
}

// FECModes is a set of modes: bit n is that of FECMode n.
type FECModes uint16

// Has tells whether the set contains a mode.
func (s FECModes) Has(m FECMode) bool { return m < 16 && s>>m&1 != 0 }

// String lists the modes.
func (s FECModes) String() string { return listBits(s, []string{"without", "FireCode", "RS", "LL-RS"}) }

// PortInfoExtended is the error correction of a port, by speed (IBTA 1,
// 14.2.5.19). A port has it where Cap2PortInfoExtended is set.
type PortInfoExtended struct {
	CapMask             uint32 // bit 0: the modes below are valid
	FECModeActive       FECMode
	FDRFECModeSupported FECModes
	FDRFECModeEnabled   FECModes
	EDRFECModeSupported FECModes
	EDRFECModeEnabled   FECModes
	HDRFECModeSupported FECModes
	HDRFECModeEnabled   FECModes
	NDRFECModeSupported FECModes
	NDRFECModeEnabled   FECModes
}

const portInfoExtendedLen = 22

// ParsePortInfoExtended reads the 22 bytes at the start of b.
func ParsePortInfoExtended(b []byte) (PortInfoExtended, error) {
	if err := need("PortInfoExtended", b, portInfoExtendedLen); err != nil {
		return PortInfoExtended{}, err
	}
	modes := func(at int) FECModes { return FECModes(be.Uint16(b[at:])) }
	return PortInfoExtended{
		CapMask: be.Uint32(b[0:]), FECModeActive: FECMode(be.Uint16(b[4:])),
		FDRFECModeSupported: modes(6), FDRFECModeEnabled: modes(8),
		EDRFECModeSupported: modes(10), EDRFECModeEnabled: modes(12),
		HDRFECModeSupported: modes(14), HDRFECModeEnabled: modes(16),
		NDRFECModeSupported: modes(18), NDRFECModeEnabled: modes(20),
	}, nil
}

// Len is 22.
func (i PortInfoExtended) Len() int { return portInfoExtendedLen }

// AppendTo appends the 22 bytes.
func (i PortInfoExtended) AppendTo(b []byte) []byte {
	b = be.AppendUint32(b, i.CapMask)
	b = be.AppendUint16(b, uint16(i.FECModeActive))
	for _, modes := range [...]FECModes{
		i.FDRFECModeSupported, i.FDRFECModeEnabled, i.EDRFECModeSupported, i.EDRFECModeEnabled,
		i.HDRFECModeSupported, i.HDRFECModeEnabled, i.NDRFECModeSupported, i.NDRFECModeEnabled,
	} {
		b = be.AppendUint16(b, uint16(modes))
	}
	return b
}

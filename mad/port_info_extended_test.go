package mad

import (
	"fmt"
	"testing"
)

// diags shows the modes of HDR and NDR where libibmad 44 takes them from: its
// table of fields lacks there what it does for all other fields of 16 bits, so
// that the halves of each 32 bits change places. Each of our bytes is read all
// the same. The layout in order is that of OpenSM's ib_types.h.
func (i PortInfoExtended) diags() []string {
	hex := func(m FECModes) string { return fmt.Sprintf("%#04x", uint16(m)) }
	return []string{
		field("CapMask", fmt.Sprintf("%#08x", i.CapMask)),
		field("FECModeActive", uint16(i.FECModeActive)),
		field("FDRFECModeSupported", hex(i.FDRFECModeSupported)),
		field("FDRFECModeEnabled", hex(i.FDRFECModeEnabled)),
		field("EDRFECModeSupported", hex(i.EDRFECModeSupported)),
		field("EDRFECModeEnabled", hex(i.EDRFECModeEnabled)),
		field("HDRFECModeSupported", hex(i.EDRFECModeEnabled)),
		field("HDRFECModeEnabled", hex(i.NDRFECModeSupported)),
		field("NDRFECModeSupported", hex(i.HDRFECModeEnabled)),
		field("NDRFECModeEnabled", hex(0)),
	}
}

func TestFECMode(t *testing.T) {
	checkStrings(t, []FECMode{FECNone, FECFireCode, FECReedSolomon, FECLowLatencyReedSolomon, 4},
		"none", "FireCode", "RS", "LL-RS", "FECMode(4)")
	checkStrings(t, []FECModes{0, 1, 6, 0x11}, "none", "without", "FireCode|RS", "without|0x10")
	if s := FECModes(0x8002); !s.Has(FECFireCode) || !s.Has(15) || s.Has(FECNone) || s.Has(16) {
		t.Errorf("%v has the wrong modes", s)
	}
}

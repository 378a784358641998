package mad

import (
	"testing"

	"heddle/ib"
)

func TestFastest(t *testing.T) {
	type set interface{ Fastest() ib.Speed }
	for _, c := range []struct {
		set  set
		want ib.Speed
	}{
		{LinkSpeedNoChange, 0},
		{LinkSpeedSDR, ib.SDR},
		{LinkSpeedSDR | LinkSpeedDDR, ib.DDR},
		{LinkSpeedSDR | LinkSpeedQDR, ib.QDR},
		{LinkSpeedAllSupported, ib.QDR},
		{LinkSpeed(8), 0}, // a bit without a meaning
		{LinkSpeedExtNoChange, 0},
		{LinkSpeedExtFDR, ib.FDR},
		{LinkSpeedExtEDR | LinkSpeedExtFDR, ib.EDR},
		{LinkSpeedExtHDR, ib.HDR},
		{LinkSpeedExtAllSupported, ib.NDR},
		{LinkSpeedExt(16), 0},
		{LinkSpeedExt2XDR, ib.XDR},
		{LinkSpeedExt2(2), 0},
		{MlnxLinkSpeedFDR10, ib.FDR10},
		{MlnxLinkSpeed(0xFE), 0},
	} {
		if got := c.set.Fastest(); got != c.want {
			t.Errorf("of %v is %v, want %v", c.set, got, c.want)
		}
	}
}

func TestSpeedsString(t *testing.T) {
	checkStrings(t, []LinkSpeed{0, 7, 15}, "none", "SDR|DDR|QDR", "SDR|DDR|QDR|0x8")
	checkStrings(t, []LinkSpeedExt{0, 15, 16}, "none", "FDR|EDR|HDR|NDR", "0x10")
	checkStrings(t, []LinkSpeedExt2{1, 6}, "XDR", "0x6")
	checkStrings(t, []MlnxLinkSpeed{1, 0x81}, "FDR10", "FDR10|0x80")
}

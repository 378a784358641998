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

// TestSpeedSets: each speed has its bit in one kind of set and in no other.
func TestSpeedSets(t *testing.T) {
	type sets struct {
		LinkSpeed     LinkSpeed
		LinkSpeedExt  LinkSpeedExt
		LinkSpeedExt2 LinkSpeedExt2
		MlnxLinkSpeed MlnxLinkSpeed
	}
	want := map[ib.Speed]sets{
		ib.SDR:   {LinkSpeed: LinkSpeedSDR},
		ib.DDR:   {LinkSpeed: LinkSpeedDDR},
		ib.QDR:   {LinkSpeed: LinkSpeedQDR},
		ib.FDR10: {MlnxLinkSpeed: MlnxLinkSpeedFDR10},
		ib.FDR:   {LinkSpeedExt: LinkSpeedExtFDR},
		ib.EDR:   {LinkSpeedExt: LinkSpeedExtEDR},
		ib.HDR:   {LinkSpeedExt: LinkSpeedExtHDR},
		ib.NDR:   {LinkSpeedExt: LinkSpeedExtNDR},
		ib.XDR:   {LinkSpeedExt2: LinkSpeedExt2XDR},
	}
	for n := range 256 {
		v := ib.Speed(n)
		if got := (sets{LinkSpeedOf(v), LinkSpeedExtOf(v), LinkSpeedExt2Of(v), MlnxLinkSpeedOf(v)}); got != want[v] {
			t.Errorf("%v is in %+v, want %+v", v, got, want[v])
		}
	}
	if got := LinkSpeedOf(ib.SDR, ib.QDR, ib.FDR10); got != LinkSpeedSDR|LinkSpeedQDR {
		t.Errorf("got %v", got)
	}
}

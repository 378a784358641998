package mad

import (
	"fmt"
	"strings"
	"testing"
)

// OpenSM shows of DRNotice and DRPathTruncated the bits 0x80 and 0xC0, moved,
// and a path with one hop more than its count.
func (d BadMKeyDetails) opensm() []string {
	var path strings.Builder
	path.WriteString("Path = ")
	for i, port := range d.Path[:d.HopCount+1] {
		if i > 0 {
			path.WriteString(",")
		}
		path.WriteString(fmt.Sprint(port))
	}
	return []string{
		line("lid", d.LID), line("drslid", d.DrSLID), fmt.Sprintf("method %#x", uint8(d.Method)),
		fmt.Sprintf("attr_id %#x", uint16(d.Attr)), fmt.Sprintf("attr_mod %#x", d.Modifier), line("m_key", d.MKey),
		line("dr_notice", flag(d.Directed, 1)), line("dr_path_truncated", flag(d.Directed, 2)|flag(d.Truncated, 1)),
		line("dr_hop_count", d.HopCount), fmt.Sprintf("Directed Path Dump of %d hop path:", d.HopCount), path.String(),
	}
}

// TestBadMKeyBits: DRPathTruncated is the second bit of its byte, as in
// Wireshark's dissector, which calls it infiniband.trap.drpathtruncated.
func TestBadMKeyBits(t *testing.T) {
	for _, c := range []struct {
		d    BadMKeyDetails
		want byte
	}{
		{BadMKeyDetails{Directed: true}, 0x80},
		{BadMKeyDetails{Truncated: true}, 0x40},
		{BadMKeyDetails{HopCount: 0x3F}, 0x3F},
		{BadMKeyDetails{HopCount: 0xFF}, 0x3F},
	} {
		if b := c.d.Pack(); b[23] != c.want {
			t.Errorf("%+v: %#x", c.d, b[23])
		}
	}
}

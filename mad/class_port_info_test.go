package mad

import (
	"fmt"
	"strings"
)

// diags is what saquery shows, which packs some fields into one.
func (i ClassPortInfo) diags() []string {
	row := func(name, format string, value any) string {
		return name + strings.Repeat(".", 25-len(name)) + fmt.Sprintf(format, value)
	}
	route := func(tc uint8, sl uint8, fl uint32) uint32 { return uint32(tc)<<24 | uint32(sl)<<20 | fl }
	return []string{
		row("Base version", "%d", i.BaseVersion),
		row("Class version", "%d", i.ClassVersion),
		row("Capability mask", "0x%04X", i.CapabilityMask),
		row("Capability mask 2", "0x%08X", i.CapabilityMask2),
		row("Response time value", "0x%02X", uint8(i.RespTimeValue)),
		row("Redirect GID", "%v", i.RedirectGID),
		row("Redirect TC/SL/FL", "0x%08X", route(i.RedirectTC, uint8(i.RedirectSL), i.RedirectFL)),
		row("Redirect LID", "%d", i.RedirectLID),
		row("Redirect PKey", "0x%04X", uint16(i.RedirectPKey)),
		row("Redirect QP", "0x%08X", uint32(i.RedirectQP)),
		row("Redirect QKey", "0x%08X", uint32(i.RedirectQKey)),
		row("Trap GID", "%v", i.TrapGID),
		row("Trap TC/SL/FL", "0x%08X", route(i.TrapTC, uint8(i.TrapSL), i.TrapFL)),
		row("Trap LID", "%d", i.TrapLID),
		row("Trap PKey", "0x%04X", uint16(i.TrapPKey)),
		row("Trap HL/QP", "0x%08X", uint32(i.TrapHL)<<24|uint32(i.TrapQP)),
		row("Trap QKey", "0x%08X", uint32(i.TrapQKey)),
	}
}

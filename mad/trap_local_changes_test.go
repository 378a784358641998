package mad

import "fmt"

func (d LocalChangesDetails) opensm() []string {
	return []string{
		line("lid", d.LID), line("local_changes", flag(d.Other, 1)), fmt.Sprintf("new_cap_mask %#08x", d.CapabilityMask),
		fmt.Sprintf("change_flags %#x", uint16(d.Changes)), fmt.Sprintf("cap_mask2 %#x", d.CapabilityMask2),
	}
}

package plan

import (
	"heddle/ib"
	"heddle/mad"
	"heddle/sm/subnet"
)

// Aliases is the stage that writes the GUIDs which ports have beside their own:
// by a port's own GUID, its table from index 0, which is its own and not looked
// at, with 0 for an empty entry. Blocks that hold them are not written, nor
// those beyond a port's GUIDCap.
func Aliases(v *subnet.View, aliases map[ib.GUID][]ib.GUID, h *Held) Stage {
	stage := Stage{Name: "aliases"}
	if len(aliases) == 0 {
		return stage
	}
	for _, p := range addressed(v) {
		table := aliases[p.At().GUID]
		for first := 0; first < min(len(table), int(p.At().Info.GUIDCap)); first += len(mad.GUIDInfo{}) {
			var block mad.GUIDInfo
			copy(block[:], table[first:])
			if first == 0 {
				block[0] = p.At().GUID
			}
			s := set(p.Node, p.Port, mad.AttrGUIDInfo, uint32(first/len(block)), block)
			if _, held := h.table(&s); !held {
				stage.SMPs = append(stage.SMPs, s)
			}
		}
	}
	return stage
}

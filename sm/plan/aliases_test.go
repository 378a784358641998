package plan_test

import (
	"testing"

	"heddle/emu"
	"heddle/ib"
	"heddle/mad"
	"heddle/sm/plan"
)

// TestAliases: ports get their aliases once, in the blocks that they have.
func TestAliases(t *testing.T) {
	onEmulator(t, "single:hosts=2", emu.Config{}, func(e emulated) {
		v, held := e.sweep(), plan.NewHeld()
		host := nodesByName(v)["host-1"]
		own := host.Ports[1].GUID
		aliases := map[ib.GUID][]ib.GUID{own: {3: 0x77, 9: 0x78, 40: 0x79}, 0x5: {1: 0x80}}
		stage := plan.Aliases(v, aliases, held)
		if len(stage.SMPs) != 4 { // GUIDCap is 32
			t.Fatalf("%d SMPs", len(stage.SMPs))
		}
		for i := range stage.SMPs {
			if s := &stage.SMPs[i]; s.Node != host || s.Attr != mad.AttrGUIDInfo || s.Modifier != uint32(i) {
				t.Errorf("%v %d of %s", s.Attr, s.Modifier, s.Node.Label())
			}
		}
		e.send(held, stage)
		block, err := mad.ParseGUIDInfo(e.get(host, mad.AttrGUIDInfo, 0))
		if want := (mad.GUIDInfo{own, 0, 0, 0x77}); err != nil || block != want {
			t.Errorf("%v, %v, want %v", block, err, want)
		}
		if again := plan.Aliases(v, aliases, held); len(again.SMPs) > 0 {
			t.Errorf("written again: %d SMPs", len(again.SMPs))
		}
	})
}

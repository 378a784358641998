package plan_test

import (
	"sync"
	"testing"

	"heddle/ib"
	"heddle/mad"
	"heddle/sm/plan"
)

// TestHeldIsAskedByMany: subnet administration asks what switches hold that
// nothing is known of yet, while the manager plans for them.
func TestHeldIsAskedByMany(t *testing.T) {
	h := plan.NewHeld()
	var wait sync.WaitGroup
	for range 4 {
		wait.Go(func() {
			for guid := range ib.GUID(100) {
				if s := h.Switch(guid); s.LFT != nil || s.Info != (mad.SwitchInfo{}) {
					t.Errorf("a switch that nothing is known of holds %v", s)
				}
			}
		})
	}
	wait.Wait()
	h.Answered(1, mad.AttrLinearForwarding, 0, make([]byte, 64))
	if len(h.Switch(1).LFT) != 1 || len(h.Switch(2).LFT) != 0 {
		t.Error("what one switch answered is not held of it alone")
	}
}

package emu

import "fmt"

// CheckCredits finds credits or room that cannot be: less than nothing, more
// than a buffer, or credits for room that is not there. Idle says that nothing
// is on its way, so that all of it must be free.
func CheckCredits(s *Subnet, idle bool) error {
	w := s.data.wires
	for slot := range w.sides {
		a := &w.sides[slot]
		far, ok := w.far(a)
		if !ok {
			continue
		}
		for vl := range a.lanes {
			credits, room := a.lanes[vl].credits, w.sides[far].lanes[vl].room
			if credits < 0 || credits > room || room > w.room || idle && credits != w.room {
				return fmt.Errorf("%s VL%d: %d credits for %d of %d blocks", s.fabric.EndLabel(a.end), vl, credits, room, w.room)
			}
		}
	}
	return nil
}

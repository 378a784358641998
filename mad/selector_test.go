package mad

import "testing"

func TestSelector(t *testing.T) {
	checkStrings(t, []Selector{SelectGreater, SelectLess, SelectExactly, SelectLargest, 4}, "greater", "less", "exactly", "largest", "Selector(4)")
	for s, want := range map[Selector][3]bool{ // a record's value that is less, equal, greater
		SelectGreater: {false, false, true},
		SelectLess:    {true, false, false},
		SelectExactly: {false, true, false},
		SelectLargest: {true, true, true},
	} {
		for i, admits := range want {
			if s.admits(i-1) != admits {
				t.Errorf("%v admits %d: %v", s, i-1, !admits)
			}
		}
	}
}

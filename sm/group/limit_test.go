package group

import (
	"testing"

	"heddle/ib"
)

// TestClientShare: a client gets its share of the MLIDs and no more, others get
// the rest, and what it creates beyond shares an MLID, if groups may.
func TestClientShare(t *testing.T) {
	for _, share := range []bool{false, true} {
		table := newTable(t, Config{Cap: 15, Share: share, Limits: Limits{Share: 50}})
		for m := range 8 {
			mustJoin(t, table, plainJoin(m, 1))
		}
		j, err := table.Join(start, plainJoin(8, 1))
		switch {
		case share && (err != nil || j.Group.MLID >= ib.FirstMLID+8):
			t.Errorf("one more, to be shared: %v, %v", j.Group.MLID, err)
		case !share && refused(err) != TooManyGroups:
			t.Errorf("one more: %v", err)
		}
		for m := range 7 {
			if got := mustJoin(t, table, plainJoin(20+m, 2)).Group.MLID; got != ib.FirstMLID+ib.MLID(8+m) {
				t.Errorf("share %v: group %d of another client has %v", share, m, got)
			}
		}
		if _, err := table.Leave(start, plainJoin(3, 1)); err != nil {
			t.Fatal(err)
		}
		if _, err := table.Join(start, plainJoin(9, 1)); err != nil {
			t.Errorf("share %v: after a leave: %v", share, err)
		}
		checkTable(t, table)
	}
	if _, err := New(Config{Limits: Limits{Share: 101}}); err == nil {
		t.Error("more than all is taken")
	}
}

package sm_test

import (
	"testing"
	"time"

	"heddle/emu"
	"heddle/fabric"
	"heddle/ib"
	"heddle/mad"
	"heddle/sa"
	"heddle/sm/group"
)

// TestSilentSwitchHoldsUpItsGroupsOnly: a group whose tree needs a switch that
// does not answer waits; others become Ready meanwhile, though their entries come
// in a later stage.
func TestSilentSwitchHoldsUpItsGroupsOnly(t *testing.T) {
	run(t, "fat-tree:k=4", emu.Config{}, func(t *testing.T, r running) {
		f := r.fabric(t)
		hosts := f.Adapters()
		leaf, _ := f.Leaf(fabric.End{Node: hosts[1], Port: 1})
		slow := func(s *emu.Subnet) error { return s.SlowAgent(leaf.Node, 12*time.Second, 1) }
		if err := r.live.Do(slow); err != nil {
			t.Fatal(err)
		}
		r.join(t, mgid(1), 2, hosts[1], hosts[2])
		time.Sleep(time.Second)
		for _, host := range hosts[12:14] {
			r.at(t, host, func(c client) {
				q := mad.MCMemberRecord{MGID: mgid(2), QKey: 1, PKey: ib.DefaultPKey, MLID: ib.FirstMLID + 64, MemberCount: 2}
				if _, err := c.Join(t.Context(), q, sa.MCMemberCreate|mad.MCMemberRecordMemberCount|mad.MCMemberRecordMLID); err != nil {
					t.Error(err)
				}
			})
		}
		state := func(g ib.MGID) (state group.State) {
			r.Groups(func(table *group.Table) {
				if group, ok := table.Group(g); ok {
					state = group.State
				}
			})
			return state
		}
		time.Sleep(10 * time.Second)
		if one, two := state(mgid(1)), state(mgid(2)); one != group.ComputingRoutes || two != group.Ready {
			t.Errorf("the group that needs the silent switch is %v, the other %v", one, two)
		}
		if err := r.live.Do(func(s *emu.Subnet) error { return s.SlowAgent(leaf.Node, 0, 0) }); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if one := state(mgid(1)); one != group.Ready {
			t.Errorf("when the switch answers again, its group is %v", one)
		}
	})
}

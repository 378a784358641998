package sm_test

import (
	"testing"
	"time"

	"heddle/emu"
	"heddle/fabric"
	"heddle/mad"
	"heddle/sm/replica"
)

// TestStatusNamesOthers: each manager names the other one.
func TestStatusNamesOthers(t *testing.T) {
	paired(t, func(t *testing.T, r running, _ *full, one, two *twin) {
		hosts := r.fabric(t).Adapters()
		for _, test := range []struct {
			at    *twin
			other fabric.NodeID
			state mad.SMState
			role  replica.Role
			fed   bool
		}{{one, hosts[0], mad.SMStandby, replica.Leader, true}, {two, hosts[8], mad.SMMaster, replica.Follower, false}} {
			s, info := test.at.Status(), r.info(t, r.fabric(t).Node(test.other).ID)
			if len(s.Managers) != 1 {
				t.Fatalf("managers %+v", s.Managers)
			}
			m := s.Managers[0]
			if m.Info.GUID != info.PortGUID || m.LID != info.LID || m.Info.SMState != test.state || !m.Trusted {
				t.Errorf("manager %+v, want %v at LID %v, %v", m, info.PortGUID, info.LID, test.state)
			}
			if since := time.Since(m.Since); since < 10*time.Second || since > time.Minute || m.Heard.Before(m.Since) {
				t.Errorf("in its state for %v, heard %v", since, m.Heard)
			}
			if s.Replica == nil || s.Replica.Role != test.role || len(s.Replica.Peers) != 2 {
				t.Fatalf("replica %+v", s.Replica)
			}
			fed := false
			for _, p := range s.Replica.Peers {
				fed = fed || p.Fed
				if time.Since(p.Heard) > 2*time.Second || p.Lag > 0 {
					t.Errorf("peer %+v", p)
				}
			}
			if fed != test.fed || s.NotKept != nil && test.role == replica.Leader || s.Started.IsZero() {
				t.Errorf("%+v", s)
			}
		}
	})
}

// TestStatusNamesTrouble: a switch that is silent, and a member that is gone.
func TestStatusNamesTrouble(t *testing.T) {
	run(t, "fat-tree:k=4", emu.Config{}, func(t *testing.T, r running) {
		if s := r.Status(); len(s.Silent)+len(s.CutOff)+len(s.Managers) > 0 || s.Replica != nil {
			t.Errorf("at the beginning: %+v", s)
		}
		f := r.fabric(t)
		spine := f.Switches()[19]
		if err := r.live.Do(func(s *emu.Subnet) error { return s.SlowAgent(spine, time.Hour, 1) }); err != nil {
			t.Fatal(err)
		}
		r.Resweep("the test")
		time.Sleep(5 * time.Second)
		s := r.Status()
		if len(s.Silent) != 1 || s.Silent[0].GUID != f.Node(spine).GUID || s.Silent[0].Sweeps < 1 || s.Silent[0].Node == "" {
			t.Errorf("silent nodes %+v", s.Silent)
		}
	})
	run(t, "fat-tree:k=4", emu.Config{MLIDs: -1}, func(t *testing.T, r running) { // no switch can multicast
		hosts := r.fabric(t).Adapters()
		mlid := r.join(t, mgid(1), 0, hosts[1], hosts[2])
		time.Sleep(time.Second)
		s := r.Status()
		if len(s.CutOff) != 2 || s.CutOff[0].MLID != mlid || s.CutOff[0].Why == "" {
			t.Errorf("cut off: %+v", s.CutOff)
		}
	})
}

package sm_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"heddle/emu"
	"heddle/mad"
	"heddle/sm/group"
)

// TestStatus looks at a manager after sweeps and joins; one group is that of
// IP broadcast.
func TestStatus(t *testing.T) {
	run(t, "fat-tree:k=4", emu.Config{}, func(t *testing.T, r running) {
		hosts := r.fabric(t).Adapters()
		s := r.Status()
		if s.Info.SMState != mad.SMMaster || s.LID == 0 || s.Nodes != 36 || s.Switches != 20 || s.Links != 48 {
			t.Errorf("after the first sweep: %+v", s)
		}
		if s.Sweeps == 0 || s.Failed > 0 || s.Last.Why == "" || s.Last.At.IsZero() || s.Sent == 0 || s.Asked == 0 {
			t.Errorf("the first sweep: %+v", s)
		}
		r.join(t, mgid(1), 0, hosts[0], hosts[9])
		r.join(t, mgid(2), 3, hosts[1], hosts[5])
		time.Sleep(time.Second)
		s = r.Status()
		if s.Groups.Groups != 3 || s.Groups.Members != 4 || s.ByState[0] != 2 || s.ByState[group.ReceivingJoinReq] != 1 {
			t.Errorf("groups: %+v, %v", s.Groups, s.ByState)
		}
		if s.Batches == 0 || s.MaxEFI != 1 || s.TreeLinks == 0 || len(s.Unsettled) > 0 || s.SA.Answered < 4 {
			t.Errorf("trees: %+v", s)
		}
		if s.Batch.Written == 0 || s.Stages.Written < s.Batch.Written || s.Stages.Read < s.Stages.Written {
			t.Errorf("stages: %+v, of the last batch %+v", s.Stages, s.Batch)
		}
		sweeps := s.Sweeps
		r.Resweep("the test")
		time.Sleep(time.Second)
		if s := r.Status(); s.Sweeps != sweeps+1 || s.Last.Why != "the test" || s.Last.Err != nil {
			t.Errorf("another sweep: %+v", s.Last)
		}
	})
}

func TestReroute(t *testing.T) {
	run(t, "fat-tree:k=4", emu.Config{}, func(t *testing.T, r running) {
		hosts := r.fabric(t).Adapters()
		mlid := r.join(t, mgid(1), 0, hosts[0], hosts[9])
		time.Sleep(time.Second)
		got, err := r.Reroute(t.Context())
		if err != nil || got.Before != 1 || got.After != 1 || got.Failed > 0 {
			t.Errorf("%+v, %v", got, err)
		}
		if reached := r.spread(t, mlid, hosts[0]); len(reached) != 1 || reached[0] != hosts[9] {
			t.Errorf("a packet reaches %v", reached)
		}
	})
}

// TestRerouteWithoutRun waits for nobody.
func TestRerouteWithoutRun(t *testing.T) {
	manage(t, "fat-tree:k=4", emu.Config{}, func(t *testing.T, m managed) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := m.Reroute(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v", err)
		}
		if s := m.Status(); s.Sweeps != 0 || s.Nodes != 0 {
			t.Errorf("%+v", s)
		}
	})
}

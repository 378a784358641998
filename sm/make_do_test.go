package sm_test

import (
	"path/filepath"
	"slices"
	"testing"
	"time"

	"heddle/emu"
	"heddle/mad"
	"heddle/sm"
	"heddle/sm/store"
)

// TestFirstStartCannotWrite: a manager that cannot write its state from the first
// on brings the subnet up all the same, says what is wrong, and acknowledges no
// join; when it can write, it goes on as any other.
func TestFirstStartCannotWrite(t *testing.T) {
	disk := &full{}
	disk.is.Store(true)
	give := func(c *sm.Config) {
		disk.Store = store.InMemory(store.Options{})
		c.Store, c.Memory = disk.Store, lone{disk}
	}
	runWith(t, "fat-tree:k=4", emu.Config{}, give, func(t *testing.T, r running) {
		t.Cleanup(func() {
			if err := disk.Close(); err != nil {
				t.Error(err)
			}
		})
		r.well(t)
		r.warned(t, sm.NotKept)
		hosts := r.fabric(t).Adapters()
		if err := r.tryJoin(t, mgid(2), hosts[3], 2*time.Second); err == nil {
			t.Error("a join is acknowledged that is not kept")
		}
		link := r.trunk(t)
		r.change(t, func(s *emu.Subnet) { s.CutLink(link) })
		r.well(t)
		disk.is.Store(false)
		time.Sleep(90 * time.Second)
		if s := r.Status(); s.NotKept != nil || len(s.Last.Warnings) > 0 {
			t.Errorf("with room: %v, %v", s.NotKept, s.Last.Warnings)
		}
		mlid := r.join(t, mgid(1), 0, hosts[0], hosts[7])
		time.Sleep(time.Second)
		if got := r.spread(t, mlid, hosts[0]); !slices.Equal(got, hosts[7:8]) {
			t.Errorf("a packet reaches %v, want %v", got, hosts[7:8])
		}
	})
}

// TestFirstStartCannotRead: where the state cannot be read either, what switches
// hold for groups stays, as nobody knows whose it is.
func TestFirstStartCannotRead(t *testing.T) {
	closed := func(c *sm.Config) {
		s, err := store.Open(filepath.Join(t.TempDir(), "state"), store.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		c.Store = s
	}
	run(t, "fat-tree:k=4", emu.Config{}, func(t *testing.T, r running) {
		hosts := r.fabric(t).Adapters()
		mlid := r.join(t, mgid(1), 0, hosts[0], hosts[7])
		time.Sleep(time.Second)
		r.stop()
		next := r.competeWith(t, hosts[8], closed)
		time.Sleep(30 * time.Second)
		if got := r.spread(t, mlid, hosts[0]); !slices.Equal(got, hosts[7:8]) {
			t.Errorf("a packet reaches %v, want %v", got, hosts[7:8])
		}
		spine := r.fabric(t).Switches()[19]
		r.change(t, func(s *emu.Subnet) { s.KillNode(spine) })
		r.well(t, spine)
		if s := next.manager.Status(); s.Info.SMState != mad.SMMaster || s.Last.Err != nil || s.NotKept == nil {
			t.Errorf("%v, %v, %v", s.Info.SMState, s.Last.Err, s.NotKept)
		}
		next.end(t)
	})
}

// warned expects a warning about the last sweep.
func (r running) warned(t *testing.T, name sm.WarningName) {
	t.Helper()
	warnings := r.Status().Last.Warnings
	if !slices.ContainsFunc(warnings, func(w sm.Warning) bool { return w.Name == name }) {
		t.Errorf("warnings %v, want %s", warnings, name)
	}
}

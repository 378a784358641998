package sm_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"heddle/emu"
	"heddle/fabric"
	"heddle/fabric/topology"
	"heddle/ib"
	"heddle/mad"
	"heddle/sa"
	"heddle/sm"
	"heddle/sm/group"
	"heddle/sm/store"
)

var errFull = errors.New("no space left on device")

// full is a store on a disk that can be full.
type full struct {
	*store.Store
	is atomic.Bool
}

func (f *full) Commit(ctx context.Context, b *store.Batch, done func(store.Result)) error {
	if f.is.Load() {
		go done(store.Result{Err: errFull})
		return nil
	}
	return f.Store.Commit(ctx, b, done)
}

func (f *full) Promise(ctx context.Context, epoch uint64, done func(store.Result)) error {
	if f.is.Load() {
		return errFull
	}
	return f.Store.Promise(ctx, epoch, done)
}

// lone is the Memory of a manager without peers.
type lone struct{ *full }

func (l lone) Lead(ctx context.Context) (uint64, error) {
	epoch, kept := l.Promised()+1, make(chan error, 1)
	if err := l.Promise(ctx, epoch, func(r store.Result) { kept <- r.Err }); err != nil {
		return 0, err
	}
	return epoch, <-kept
}

func (l lone) Follow() {}

func (l lone) Deposed() <-chan error { return nil }

// tryJoin lets a host join a group within a time.
func (r running) tryJoin(t *testing.T, g ib.MGID, host fabric.NodeID, within time.Duration) error {
	t.Helper()
	c := r.client(t, r.fabric(t).Node(host).ID)
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	_, err := c.Join(ctx, mad.MCMemberRecord{MGID: g, QKey: 1, PKey: ib.DefaultPKey}, sa.MCMemberCreate)
	return errors.Join(err, c.port.Close())
}

// holds tells whether a store has a member of a group.
func holds(t *testing.T, s *store.Store, g ib.MGID, port ib.GID) bool {
	t.Helper()
	table, err := s.Groups(group.Config{})
	if err != nil {
		t.Fatal(err)
	}
	_, ok := table.Member(g, port)
	return ok
}

// TestDiskIsFull: a manager that can keep nothing says so, and acknowledges no
// join, not even one that is repeated. When there is room again it goes on.
func TestDiskIsFull(t *testing.T) {
	disk := &full{}
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
		hosts := r.fabric(t).Adapters()
		members := []fabric.NodeID{hosts[0], hosts[7], hosts[11]}
		mlid := r.join(t, mgid(1), 0, members...)
		time.Sleep(time.Second)
		disk.is.Store(true)
		for range 3 {
			if err := r.tryJoin(t, mgid(2), hosts[3], 2*time.Second); err == nil {
				t.Error("a join is acknowledged that is not kept")
			}
		}
		if s := r.Status(); !errors.Is(s.NotKept, errFull) || s.Info.SMState != mad.SMMaster {
			t.Errorf("status: %v, %v", s.NotKept, s.Info.SMState)
		}
		if got := r.spread(t, mlid, members[0]); !slices.Equal(got, members[1:]) {
			t.Errorf("meanwhile a packet reaches %v, want %v", got, members[1:])
		}
		disk.is.Store(false)
		time.Sleep(90 * time.Second)
		if s := r.Status(); s.NotKept != nil {
			t.Errorf("with room again: %v", s.NotKept)
		}
		if err := r.tryJoin(t, mgid(2), hosts[3], 10*time.Second); err != nil {
			t.Errorf("with room again: %v", err)
		}
		if gid := r.info(t, r.fabric(t).Node(hosts[3]).ID).GID(); !holds(t, disk.Store, mgid(2), gid) {
			t.Error("a join that was acknowledged is not kept")
		}
		if again := r.join(t, mgid(1), 0, hosts[15]); again != mlid {
			t.Errorf("MLID %v, before %v", again, mlid)
		}
		time.Sleep(time.Second)
		if got, want := r.spread(t, mlid, members[0]), append(slices.Clone(members[1:]), hosts[15]); !slices.Equal(got, want) {
			t.Errorf("a packet reaches %v, want %v", got, want)
		}
	})
}

// paired is a subnet with two managers that share their state: the first, of
// the higher priority, at host 8, the second at host 0. The first one's disk can
// be full.
func paired(t *testing.T, test func(t *testing.T, r running, disk *full, one, two *twin)) {
	t.Helper()
	f, err := topology.Generate("fat-tree:k=4")
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		live, err := emu.Start(f, emu.Config{})
		if err != nil {
			t.Fatal(err)
		}
		r, w := running{managed: managed{live: live}}, wire{"one": make(chan net.Conn), "two": make(chan net.Conn)}
		disk := &full{Store: store.InMemory(store.Options{})}
		one := r.twinWith(t, w, f.Adapters()[8], 1, "one", "two", disk.Store, disk)
		time.Sleep(5 * time.Second)
		two := r.twin(t, w, f.Adapters()[0], 2, "two", "one")
		time.Sleep(30 * time.Second)
		test(t, r, disk, one, two)
		one.end(t)
		two.end(t)
		if err := live.Close(); err != nil {
			t.Error(err)
		}
	})
}

func states(one, two *twin) string {
	return fmt.Sprintf("%v and %v", one.Status().Info.SMState, two.Status().Info.SMState)
}

// TestStandbyTakesOverFromFullDisk: the master leaves the subnet to a standby
// that can keep the state, and has it back when its disk has room.
func TestStandbyTakesOverFromFullDisk(t *testing.T) {
	paired(t, func(t *testing.T, r running, disk *full, one, two *twin) {
		hosts := r.fabric(t).Adapters()
		members := []fabric.NodeID{hosts[1], hosts[6], hosts[15]}
		mlid := r.join(t, mgid(1), 0, members...)
		time.Sleep(time.Second)
		disk.is.Store(true)
		if err := r.tryJoin(t, mgid(2), hosts[3], 5*time.Second); err == nil {
			t.Error("a join is acknowledged by who cannot keep it")
		}
		if err := r.tryJoin(t, mgid(2), hosts[3], 5*time.Second); err != nil {
			t.Errorf("a join after the standby took over: %v", err)
		}
		if got := states(one, two); got != "Standby and Master" {
			t.Errorf("with a full disk: %s", got)
		}
		if got := r.spread(t, mlid, members[0]); !slices.Equal(got, members[1:]) {
			t.Errorf("a packet reaches %v, want %v", got, members[1:])
		}
		disk.is.Store(false)
		time.Sleep(10 * time.Minute)
		if got := states(one, two); got != "Master and Standby" {
			t.Errorf("with room again: %s", got)
		}
		if again := r.join(t, mgid(1), 0, hosts[3]); again != mlid {
			t.Errorf("MLID %v, before %v", again, mlid)
		}
	})
}

// TestDeposedMasterStepsDown: a master that cannot be reached is followed; when
// it hears of that, it is master no more, at once.
func TestDeposedMasterStepsDown(t *testing.T) {
	paired(t, func(t *testing.T, r running, _ *full, one, two *twin) {
		f := r.fabric(t)
		hosts := f.Adapters()
		members := []fabric.NodeID{hosts[1], hosts[6], hosts[15]}
		mlid := r.join(t, mgid(1), 0, members...)
		time.Sleep(time.Second)
		link := f.Port(fabric.End{Node: hosts[8], Port: 1}).Link
		if err := r.live.Do(func(s *emu.Subnet) error { s.CutLink(link); return nil }); err != nil {
			t.Fatal(err)
		}
		for range 100 {
			time.Sleep(100 * time.Millisecond)
			if two.Status().Info.SMState == mad.SMMaster {
				break
			}
		}
		time.Sleep(time.Second)
		if got := states(one, two); got != "Discovering and Master" {
			t.Errorf("the standby took over: %s", got)
		}
		if err := r.live.Do(func(s *emu.Subnet) error { s.RestoreLink(link); return nil }); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Minute)
		if got := states(one, two); got != "Master and Standby" {
			t.Errorf("the link is back: %s", got)
		}
		if got := r.spread(t, mlid, members[0]); !slices.Equal(got, members[1:]) {
			t.Errorf("a packet reaches %v, want %v", got, members[1:])
		}
	})
}

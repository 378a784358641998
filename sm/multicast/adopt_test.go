package multicast_test

import (
	"testing"

	"heddle/ib"
	"heddle/sm/group"
	"heddle/sm/multicast"

	"pgregory.net/rapid"
)

// follower is the world of another router, which knows the groups and reads what
// the switches hold.
func (w *world) follower(t fataler, engines ...multicast.Engine) *world {
	t.Helper()
	next := newWorld(t, w.fabric, engines...)
	next.groups, next.real = w.groups, w.real
	for _, b := range next.r.Ahead(next.held, 64, nil) {
		next.answer(b.Node.GUID(), b.Modifier)
	}
	next.r.Adopt(next.held)
	var all group.Batch
	for i := range ib.MLID(64) {
		if _, ok := w.groups[ib.FirstMLID+i]; ok {
			all.Changed = append(all.Changed, ib.FirstMLID+i)
		}
	}
	next.report = next.r.Update(all, next.groups)
	return next
}

// grow makes groups of some hosts, whose members come one after the other.
func (w *world) grow(t *rapid.T, hosts int) {
	w.Helper()
	for i := range rapid.IntRange(1, 12).Draw(t, "groups") {
		members := rapid.SliceOfNDistinct(rapid.IntRange(0, hosts-1), 2, 6, rapid.ID).Draw(t, "members")
		for n := 2; n <= len(members); n++ {
			w.have(ib.FirstMLID+ib.MLID(i), members[:n], nil)
			w.program()
		}
	}
}

// TestAdopt: who follows on a router writes nothing.
func TestAdopt(t *testing.T) {
	f := generate(t, "torus:3x3x2,e=1")
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t, f, engine(t, "weave", 1))
		w.grow(t, len(f.Adapters()))
		next := w.follower(t, engine(t, "weave", 1))
		if p := next.program(); p.Sets > 0 {
			t.Errorf("%d Sets, %+v", p.Sets, next.report)
		}
	})
}

// TestAdoptDamaged: whatever the tables hold, all members are reached once in
// the end, and what is not damaged stays.
func TestAdoptDamaged(t *testing.T) {
	f := generate(t, "torus:3x3x2,e=1")
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t, f, engine(t, "weave", 1))
		w.grow(t, len(f.Adapters()))
		damage(t, w)
		next := w.follower(t, engine(t, "weave", 1))
		next.program()
		for mlid, g := range next.groups {
			for _, from := range g.Receivers {
				next.reaches(mlid, from.GUID(), g.Receivers)
			}
		}
	})
}

// damage flips bits of the first block of switches.
func damage(t *rapid.T, w *world) {
	switches := w.fabric.Switches()
	for range rapid.IntRange(1, 8).Draw(t, "flips") {
		guid := w.fabric.Node(rapid.SampledFrom(switches).Draw(t, "switch")).GUID
		row, port := rapid.IntRange(0, 12).Draw(t, "row"), rapid.IntRange(0, 7).Draw(t, "port")
		if w.real[guid] == nil {
			w.real[guid] = table{}
		}
		block := w.real[guid][0]
		block[row] ^= 1 << port
		w.real[guid][0] = block
	}
}

// reaches sends a packet from a port and wants it to come to all others.
func (w *world) reaches(mlid ib.MLID, from ib.GUID, members []ib.GID) {
	w.Helper()
	at, ok := w.end(from)
	if !ok {
		w.Fatalf("no port %v", from)
	}
	got, err := w.walk(mlid, at)
	if err != nil {
		w.Fatalf("MLID %v from %v: %v", mlid, from, err)
	}
	for _, to := range members {
		if _, ok := got[to.GUID()]; !ok && to.GUID() != from {
			w.Fatalf("MLID %v from %v does not reach %v", mlid, from, to)
		}
	}
	if len(got) != len(members)-1 {
		w.Fatalf("MLID %v from %v reaches %d ports, want %d", mlid, from, len(got), len(members)-1)
	}
}

// TestAdoptNothing: groups whose tables are empty are laid as ever.
func TestAdoptNothing(t *testing.T) {
	f := generate(t, "fat-tree:k=4")
	w := newWorld(t, f, engine(t, "weave", 1))
	w.groups[ib.FirstMLID] = group.Ports{Receivers: w.gids([]int{0, 7, 15})}
	next := w.follower(t, engine(t, "weave", 1))
	if next.report.Laid != 1 {
		t.Errorf("%+v, want one tree laid", next.report)
	}
	if p := next.program(); p.Sets == 0 {
		t.Error("nothing was written")
	}
	next.reaches(ib.FirstMLID, hostGUID(0), next.groups[ib.FirstMLID].Receivers)
}

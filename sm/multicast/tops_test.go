package multicast_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"heddle/ib"
	"heddle/mad"
	"heddle/sm/group"
	"heddle/sm/plan"
)

// topped is a world whose switches have a MulticastFDBTop, which is 0xBFFF at
// first, and forward unicast already.
func topped(t *testing.T) *world {
	t.Helper()
	f := generate(t, "fat-tree:k=4")
	v := viewOf(f)
	for _, n := range v.Nodes {
		n.Ports[0].Info.CapabilityMask = mad.CapMulticastFDBTop
		n.Switch.LinearFDBTop, n.Switch.MulticastFDBTop = 77, 0xBFFF
	}
	w := newWorld(t, f, engine(t, "weave", 1))
	if _, err := w.r.Rebase(v); err != nil {
		t.Fatal(err)
	}
	return w
}

// tops lets two hosts of one switch into a group, and gives the tops that are
// written, before which rises is called.
func (w *world) tops(t *testing.T, mlid ib.MLID, rises func(s *plan.SMP)) (list []uint16) {
	t.Helper()
	w.groups[mlid] = group.Ports{Receivers: w.gids([]int{0, 1})}
	w.r.Update(group.Batch{Changed: []ib.MLID{mlid}}, w.groups)
	w.read()
	for _, stage := range w.r.Plan(w.held).Stages {
		for i := range stage.SMPs { // those of a stage come in any order
			if s := &stage.SMPs[i]; s.Attr == mad.AttrSwitchInfo {
				info, err := mad.ParseSwitchInfo(s.Data[:])
				if err != nil || info.LinearFDBTop != 77 {
					t.Errorf("%+v, %v", info, err)
				}
				rises(s)
				list = append(list, info.MulticastFDBTop)
				w.held.Answered(s.Node.GUID(), s.Attr, 0, s.Data[:])
			}
		}
		for i := range stage.SMPs {
			w.write(&stage.SMPs[i])
		}
	}
	return list
}

// TestTop: MulticastFDBTop is written where a switch has one, and seldom if the
// switch is known to hold nothing.
func TestTop(t *testing.T) {
	for _, test := range []struct {
		name  string
		reset bool
		want  map[ib.MLID][]uint16
	}{
		{"reset", true, map[ib.MLID][]uint16{first + 70: {0xC07F}}},
		{"not known", false, map[ib.MLID][]uint16{first + 70: {0xC05F}, first + 100: {0xC07F}}},
	} {
		w := topped(t)
		for _, id := range w.fabric.Switches() {
			if test.reset {
				w.held.Reset(w.fabric.Node(id).GUID)
			}
		}
		test.want[first], test.want[first+32], test.want[ib.LastMLID] = []uint16{0xC01F}, []uint16{0xC03F}, []uint16{0xFFFE}
		for _, mlid := range []ib.MLID{first, first + 31, first + 32, first + 70, first + 100, ib.LastMLID} {
			if diff := cmp.Diff(test.want[mlid], w.tops(t, mlid, func(*plan.SMP) {})); diff != "" {
				t.Errorf("%s: %v (-want +got):\n%s", test.name, mlid, diff)
			}
		}
	}
}

// TestTopRisesOverNothing: what another manager left above a switch's top, in
// blocks that none of our groups is in and in those that some are, is gone
// before the top rises over it, and a top does not rise over what is not known.
func TestTopRisesOverNothing(t *testing.T) {
	all := func(uint16) mad.MulticastForwarding { return mad.MulticastForwarding{3: 0xffff} }
	one := func(host uint16) mad.MulticastForwarding { return mad.MulticastForwarding{3: 1 << host} }
	for _, test := range []struct {
		name   string
		left   func(host uint16) mad.MulticastForwarding
		unread bool // the switch does not tell what it holds
	}{
		{"links", all, false},
		{"a host", one, false},
		{"not known", all, true},
	} {
		w := topped(t)
		host, _ := w.active.ByPortGUID(hostGUID(0))
		leaf, _ := w.active.Leaf(host)
		guid := w.fabric.Node(leaf.Node).GUID
		w.real[guid] = table{}
		for block := range uint16(8) {
			w.real[guid][mad.MulticastModifier(block, 0)] = test.left(leaf.Port)
		}
		w.deaf = test.unread
		n := 0
		for _, mlid := range []ib.MLID{first + 70, first + 130} {
			for _, top := range w.tops(t, mlid, func(s *plan.SMP) {
				n++
				info, _ := mad.ParseSwitchInfo(s.Data[:])
				for m := first; uint16(m) <= info.MulticastFDBTop; m++ {
					if _, ours := w.groups[m]; !ours && w.alive(s.Node.GUID(), m) {
						t.Errorf("%s: %v comes alive in %v", test.name, m, s.Node.GUID())
					}
				}
			}) {
				if block := uint16(mlid-first) / 32; top != 0xC01F+32*block {
					t.Errorf("%s: the top rises to %#x for %v", test.name, top, mlid)
				}
			}
		}
		if n != 2 {
			t.Errorf("%s: %d tops rise, want 2", test.name, n)
		}
	}
}

// alive tells whether a switch has an entry of an MLID.
func (w *world) alive(guid ib.GUID, mlid ib.MLID) bool {
	for range w.entry(guid, mlid).All() {
		return true
	}
	return false
}

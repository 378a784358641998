package sm_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"heddle/emu"
	"heddle/fabric"
	"heddle/mad"
	"heddle/umad"
)

// TestTwoMasters joins two islands that each have a master: the higher priority
// wins, then the lower GUID, and the other stands by.
func TestTwoMasters(t *testing.T) {
	for _, priority := range []uint8{1, 5, 9} { // of the second, that of the first is 5
		t.Run(fmt.Sprint(priority), func(t *testing.T) {
			run(t, "torus:4,e=2", emu.Config{}, func(t *testing.T, r running) {
				hosts := r.fabric(t).Adapters()
				r.between(t, (*emu.Subnet).CutLink, [2]int{1, 2}, [2]int{3, 0})
				other := r.compete(t, hosts[7], priority)
				time.Sleep(30 * time.Second)
				if lids := r.status(t).SMLIDs; len(lids) != 2 {
					t.Errorf("managers of two islands by port: %v, want two", lids)
				}
				r.between(t, (*emu.Subnet).RestoreLink, [2]int{1, 2}, [2]int{3, 0})
				time.Sleep(30 * time.Second)
				states, manager := r.master(t, hosts[0], hosts[7])
				wantManager, want := hosts[0], [2]mad.SMState{mad.SMMaster, mad.SMStandby}
				if priority > 5 {
					wantManager, want = hosts[7], [2]mad.SMState{mad.SMStandby, mad.SMMaster}
				}
				if manager != wantManager || [2]mad.SMState(states) != want {
					t.Errorf("managed by node %d, states %v, want %d and %v", manager, states, wantManager, want)
				}
				r.well(t)
				other.end(t)
			})
		})
	}
}

// TestWorseMasterWritesNothing: of two masters that meet, the one that is to stand
// by gives no port of the other's an address.
func TestWorseMasterWritesNothing(t *testing.T) {
	var n atomic.Int32
	worse := subject{wrap: func(d umad.Device) umad.Device { return writes{d, mad.AttrPortInfo, &n} }}
	runOn(t, generate(t, "torus:4,e=2"), emu.Config{}, worse, func(t *testing.T, r running) {
		hosts := r.fabric(t).Adapters()
		r.between(t, (*emu.Subnet).CutLink, [2]int{1, 2}, [2]int{3, 0})
		other := r.compete(t, hosts[7], 9)
		time.Sleep(30 * time.Second)
		n.Store(0)
		r.between(t, (*emu.Subnet).RestoreLink, [2]int{1, 2}, [2]int{3, 0})
		time.Sleep(30 * time.Second)
		if _, manager := r.master(t); manager != hosts[7] || n.Load() > 0 {
			t.Errorf("managed by node %d; the worse master wrote %d ports", manager, n.Load())
		}
		other.end(t)
	})
}

// between does something with the links between pairs of switches.
func (r running) between(t *testing.T, do func(*emu.Subnet, fabric.LinkID), pairs ...[2]int) {
	t.Helper()
	f := r.fabric(t)
	switches := f.Switches()
	r.change(t, func(s *emu.Subnet) {
		for _, p := range pairs {
			for e, peer := range f.Ports(switches[p[0]]) {
				if peer.Node == switches[p[1]] {
					do(s, f.Port(e).Link)
				}
			}
		}
	})
}

package emu_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"heddle/emu"
	"heddle/fabric"
	"heddle/internal/testenv"
	"heddle/route"
)

// noSweep keeps OpenSM from looking by itself: what it learns of, it was told.
const noSweep = "sweep_interval 0"

// awaitQuiet waits until nothing will happen any more by itself: no trap waits
// to be repeated.
func (s *served) awaitQuiet(t *testing.T) {
	t.Helper()
	eventually(t, func() (why string) {
		s.do(t, func(sub *emu.Subnet) {
			if at, ok := sub.Next(); ok {
				why = fmt.Sprint("something will happen in ", at-sub.Now())
			}
		})
		return why
	})
}

// awaitFound waits until ibnetdiscover finds a fabric with the LIDs that OpenSM
// gave, and iblinkinfo both ends of all of its links active.
func (s *served) awaitFound(t *testing.T, f *fabric.Fabric) {
	t.Helper()
	eventually(t, func() string { return s.differs(t, f) })
	ends := f.Summary(nil).LinkEnds
	eventually(t, func() string {
		out := s.diag(t, "iblinkinfo", "-l")
		if n := strings.Count(out, "Active/  LinkUp"); n != ends {
			return fmt.Sprintf("%d of %d ends of links are active:\n%s", n, ends, out)
		}
		return ""
	})
}

// awaitTrap128 waits until OpenSM's log, after what stood there before, has a
// trap of a switch.
func (s *served) awaitTrap128(t *testing.T, sm *testenv.OpenSM, before int, id fabric.NodeID) {
	t.Helper()
	n := s.fabric.Node(id)
	want := fmt.Sprintf(`"Link state change" from switch LID %v, GUID %v`, s.lid(t, n.ID), n.GUID)
	eventually(t, func() string {
		if log := sm.Log()[before:]; !strings.Contains(log, want) {
			return fmt.Sprintf("no notice %s in\n%s", want, log)
		}
		return ""
	})
}

// TestLinkCut: OpenSM is told of a link that is cut and of one that is back, by
// the switches at both of its ends, sweeps, and represses the traps.
func TestLinkCut(t *testing.T) {
	f := generate(t, "fat-tree:k=4")
	s, sm := broughtUp(t, f, emu.Config{}, noSweep)
	e := fabric.End{Node: f.Switches()[0], Port: 1}
	peer, _ := f.Peer(e)
	link := f.Port(e).Link
	changes := []struct {
		change func(*emu.Subnet)
		left   *fabric.Fabric
	}{
		{func(sub *emu.Subnet) { sub.CutLink(link) }, f.Without(nil, []fabric.LinkID{link})},
		{func(sub *emu.Subnet) { sub.RestoreLink(link) }, f},
	}
	for _, c := range changes {
		logged := len(sm.Log())
		s.do(t, c.change)
		sm.WaitSubnetUp(t)
		s.awaitTrap128(t, sm, logged, e.Node)
		s.awaitTrap128(t, sm, logged, peer.Node)
		s.awaitFound(t, c.left)
		s.awaitQuiet(t)
		s.checkLFTs(t, route.NewGraph(s.found(t), route.Selection{}))
	}
	checkLog(t, sm.Log())
}

// TestFlappingLink: OpenSM follows a link that comes and goes, and in the end
// all is as before.
func TestFlappingLink(t *testing.T) {
	f := generate(t, "fat-tree:k=4")
	s, sm := broughtUp(t, f, emu.Config{}, noSweep)
	link := f.Port(fabric.End{Node: f.Switches()[0], Port: 1}).Link
	s.do(t, func(sub *emu.Subnet) { sub.FlapLink(link, 20, 7*time.Millisecond, 11*time.Millisecond) })
	sm.WaitSubnetUp(t)
	s.awaitQuiet(t)
	s.awaitFound(t, f)
	s.checkLFTs(t, route.NewGraph(s.found(t), route.Selection{}))
}

// TestSwitchKilled: a switch that dies and one that comes back, without LID and
// tables, each make OpenSM sweep.
func TestSwitchKilled(t *testing.T) {
	f := generate(t, "fat-tree:k=4")
	s, sm := broughtUp(t, f, emu.Config{}, noSweep)
	spine := f.Switches()[len(f.Switches())-1]
	s.do(t, func(sub *emu.Subnet) { sub.KillNode(spine) })
	sm.WaitSubnetUp(t)
	s.awaitQuiet(t)
	s.awaitFound(t, f.Without([]fabric.NodeID{spine}, nil))
	s.do(t, func(sub *emu.Subnet) { sub.ReviveNode(spine) })
	sm.WaitSubnetUp(t)
	s.awaitQuiet(t)
	s.awaitFound(t, f)
	s.checkLFTs(t, route.NewGraph(s.found(t), route.Selection{}))
	checkLog(t, sm.Log())
}

// TestIsSMTrap: OpenSM is told by trap 144 that another port claims to have a
// subnet manager, and that it does so no more.
func TestIsSMTrap(t *testing.T) {
	s, sm := broughtUp(t, generate(t, "single:hosts=3"), emu.Config{}, noSweep)
	p := s.native(t, "host-2")
	from := fmt.Sprintf("from LID %v, GUID %v, new CapabilityMask ", s.lid(t, "host-2"), s.info(t, "host-2", 0).PortGUID)
	mask := s.info(t, "host-2", 0).Capabilities
	for _, on := range []bool{true, false} {
		if err := p.SetIsSM(on); err != nil {
			t.Fatal(err)
		}
		mask ^= 1 << 1
		sm.WaitLog(t, fmt.Sprintf("%s0x%08x", from, mask))
	}
	s.awaitQuiet(t)
}

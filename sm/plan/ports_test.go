package plan_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"heddle/emu"
	"heddle/ib"
	"heddle/mad"
	"heddle/sm/plan"
	"heddle/sm/subnet"
)

func TestAddresses(t *testing.T) {
	lids := plan.LIDRules{LMC: 1}
	rules := plan.DefaultPortRules()
	rules.Manager, rules.SL, rules.MKey, rules.MKeyLease, rules.MKeyProtect = 2, 3, 0x77, 60, 2
	ports := []aPort{{1, mad.NodeCA, 0}, {2, mad.NodeSwitch, 0}}
	want := []mad.PortInfo{
		{LID: 2, LMC: 1, MasterSMLID: 2, MasterSMSL: 3, GidPrefix: ib.DefaultPrefix, MKey: 0x77, MKeyLeasePeriod: 60, MKeyProtectBits: 2, SubnetTimeOut: 18},
		{LID: 1, LMC: 0, MasterSMLID: 2, MasterSMSL: 3, GidPrefix: ib.DefaultPrefix, MKey: 0x77, MKeyLeasePeriod: 60, MKeyProtectBits: 2, SubnetTimeOut: 18},
	}
	tests := []struct {
		name   string
		change func(v *subnet.View, r *plan.PortRules)
		sent   []int // nodes that get a Set, switches first
		again  bool  // with ClientReregister
	}{
		{"new", func(*subnet.View, *plan.PortRules) {}, []int{1, 0}, false},
		{"as it should be", func(v *subnet.View, _ *plan.PortRules) {
			v.Nodes[0].Ports[1].Info, v.Nodes[1].Ports[0].Info = want[0], want[1]
		}, nil, false},
		{"one thing differs", func(v *subnet.View, _ *plan.PortRules) {
			v.Nodes[0].Ports[1].Info, v.Nodes[1].Ports[0].Info = want[0], want[1]
			v.Nodes[0].Ports[1].Info.MasterSMLID = 9
		}, []int{0}, false},
		{"reregister", func(v *subnet.View, r *plan.PortRules) {
			v.Nodes[0].Ports[1].Info, v.Nodes[1].Ports[0].Info = want[0], want[1]
			v.Nodes[0].Ports[1].Info.CapabilityMask = mad.CapClientReregistration
			r.Reregister = func(plan.PortRef) bool { return true }
		}, []int{0}, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			v, r := viewOf(ports, false), rules
			test.change(v, &r)
			l, err := plan.AssignLIDs(v, lids)
			if err != nil {
				t.Fatal(err)
			}
			stage := plan.Addresses(v, l, r)
			var sent []int
			for _, s := range stage.SMPs {
				i := slices.Index(v.Nodes, s.Node)
				sent = append(sent, i)
				checkAddress(t, s, want[i], test.again)
			}
			if diff := cmp.Diff(test.sent, sent); diff != "" {
				t.Errorf("nodes (-want +got):\n%s", diff)
			}
			v.Nodes[0].Ports[1].Info.CapabilityMask = 0
			if got := v.Nodes[0].Ports[1].Info; got != want[0] {
				t.Errorf("view has %+v", got)
			}
		})
	}
}

// checkAddress wants a Set that gives a port its address, and orders nothing
// else.
func checkAddress(t *testing.T, s plan.SMP, want mad.PortInfo, again bool) {
	t.Helper()
	info, err := mad.ParsePortInfo(s.Data[:])
	if err != nil || s.Attr != mad.AttrPortInfo {
		t.Fatal(s.Attr, err)
	}
	want.CapabilityMask, want.ClientReregister = info.CapabilityMask, again
	if info != want {
		t.Errorf("Set %+v, want %+v", info, want)
	}
}

// TestLinks takes what a sweep saw of two adapters at a switch, changes it, and
// looks at the Sets.
func TestLinks(t *testing.T) {
	type ports struct{ host0, host1, to0, to1, port0 *mad.PortInfo }
	const vls8, vls1 = mad.DataVLs8, mad.DataVLs1
	all := func(p ports, change func(*mad.PortInfo)) {
		for _, x := range []*mad.PortInfo{p.host0, p.host1, p.to0, p.to1} {
			change(x)
		}
	}
	asTheyShouldBe := func(p ports) {
		all(p, func(x *mad.PortInfo) {
			x.PortState, x.NeighborMTU, x.OperationalVLs, x.LocalPhyErrors, x.OverrunErrors = mad.PortActive, ib.MTU4096, vls8, 8, 8
		})
		for _, x := range []*mad.PortInfo{p.to0, p.to1} {
			x.HOQLife, x.VLStallCount = 16, 7
		}
	}
	up := func(name string) []string {
		return []string{"armed " + name + " Armed MTU 4096 VLs 8", "active " + name + " Active MTU 4096 VLs 8"}
	}
	tests := []struct {
		name   string
		change func(p ports)
		want   []string
		again  bool
	}{
		{"up", func(ports) {}, slices.Concat(up("host-0/1"), up("host-1/1"), up("switch/1"), up("switch/2")), false},
		{"as they should be", asTheyShouldBe, nil, false},
		{"armed at one end", func(p ports) { asTheyShouldBe(p); p.host0.PortState = mad.PortArmed }, []string{"active host-0/1 Active MTU 4096 VLs 8"}, false},
		{"another threshold", func(p ports) { asTheyShouldBe(p); p.host0.OverrunErrors = 1 }, []string{"armed host-0/1 NoChange MTU 4096 VLs 8"}, false},
		{
			"another MTU takes the link down", func(p ports) { asTheyShouldBe(p); p.host0.NeighborMTU, p.to0.NeighborMTU = ib.MTU2048, ib.MTU2048 },
			[]string{"down host-0/1 Down MTU 4096 VLs 8"}, // one end is enough, the nearer one
			true,
		},
		{
			"another MTU at one end", func(p ports) { asTheyShouldBe(p); p.host1.NeighborMTU = ib.MTU2048 },
			[]string{"down switch/2 Down MTU 4096 VLs 8"},
			true,
		},
		{
			"other lanes at one end, the other in Init", func(p ports) {
				asTheyShouldBe(p)
				p.host1.OperationalVLs, p.host1.PortState, p.to1.PortState = vls1, mad.PortArmed, mad.PortInit
			},
			[]string{"down switch/2 Down MTU 4096 VLs 8"},
			true,
		},
		{
			"an MTU that one end cannot", func(p ports) { asTheyShouldBe(p); p.host1.MTUCap = ib.MTU1024 },
			[]string{"down switch/2 Down MTU 1024 VLs 8"},
			true,
		},
		{"mixed lanes", func(p ports) {
			asTheyShouldBe(p)
			p.to0.PortState, p.host0.PortState, p.to0.VLCap = mad.PortInit, mad.PortInit, vls1
		}, []string{
			"armed host-0/1 Armed MTU 4096 VLs 1", "active host-0/1 Active MTU 4096 VLs 1", "armed switch/1 Armed MTU 4096 VLs 1", "active switch/1 Active MTU 4096 VLs 1",
		}, false},
		{"no caps told", func(p ports) { asTheyShouldBe(p); p.to0.VLCap, p.host0.MTUCap = 0, 0 }, nil, false},
		{"down", func(p ports) { asTheyShouldBe(p); p.to0.PortState, p.host0.PortState = mad.PortDown, mad.PortDown }, nil, false},
		{"base port 0", func(p ports) { asTheyShouldBe(p); p.port0.PortState = mad.PortInit }, nil, false},
	}
	for _, test := range tests {
		onEmulator(t, "single:hosts=2", emu.Config{}, func(e emulated) {
			v := e.sweep()
			n := nodesByName(v)
			n["switch"].Switch.EnhancedPort0 = false
			test.change(ports{&n["host-0"].Ports[1].Info, &n["host-1"].Ports[1].Info, &n["switch"].Ports[1].Info, &n["switch"].Ports[2].Info, &n["switch"].Ports[0].Info})
			got, again := links(e, v)
			want := slices.Clone(test.want)
			slices.Sort(want)
			if diff := cmp.Diff(want, got); diff != "" || again != test.again {
				e.Errorf("%s: again %v, SMPs (-want +got):\n%s", test.name, again, diff)
			}
		})
	}
}

func nodesByName(v *subnet.View) map[string]*subnet.Node {
	list := map[string]*subnet.Node{}
	for _, n := range v.Nodes {
		list[n.Description] = n
	}
	return list
}

// links is what Links wants, as text and in order.
func links(e emulated, v *subnet.View) (list []string, again bool) {
	e.Helper()
	stages, again := plan.Links(v, plan.DefaultPortRules())
	for _, stage := range stages {
		for _, s := range stage.SMPs {
			info, err := mad.ParsePortInfo(s.Data[:])
			if err != nil {
				e.Fatal(err)
			}
			state := info.PortState.String()
			if info.PortState == mad.PortNoChange {
				state = "NoChange"
			}
			list = append(list, fmt.Sprintf("%s %s/%d %s MTU %v VLs %d", stage.Name, s.Node.Description, s.Modifier&0xFF, state, info.NeighborMTU, info.OperationalVLs.Lanes()))
		}
	}
	slices.Sort(list)
	return list, again
}

func TestLinksOfEnhancedPort0(t *testing.T) {
	onEmulator(t, "single:hosts=1", emu.Config{EnhancedPort0: true}, func(e emulated) {
		v := e.sweep()
		nodesByName(v)["switch"].Ports[0].Info.PortState = mad.PortInit
		got, _ := links(e, v)
		count := 0
		for _, s := range got {
			for _, want := range []string{"armed switch/0 Armed", "active switch/0 Active"} {
				if len(s) > len(want) && s[:len(want)] == want {
					count++
				}
			}
		}
		if count != 2 {
			e.Errorf("%q", got)
		}
	})
}

// TestLinksOfDeadPeer: a port whose peer does not answer is not taken up.
func TestLinksOfDeadPeer(t *testing.T) {
	onEmulator(t, "single:hosts=2", emu.Config{}, func(e emulated) {
		v := e.sweep()
		n := nodesByName(v)
		n["switch"].Switch.EnhancedPort0 = false
		n["host-1"].Ports[1].Answered = false
		got, _ := links(e, v)
		want := []string{
			"active host-0/1 Active MTU 4096 VLs 8", "active switch/1 Active MTU 4096 VLs 8",
			"armed host-0/1 Armed MTU 4096 VLs 8", "armed switch/1 Armed MTU 4096 VLs 8",
		}
		if diff := cmp.Diff(want, got); diff != "" {
			e.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// TestLinksComeUp sends it all: new links in one round, links with another MTU
// in two.
func TestLinksComeUp(t *testing.T) {
	onEmulator(t, "single:hosts=2", emu.Config{}, func(e emulated) {
		rules, held := plan.DefaultPortRules(), plan.NewHeld()
		e.address(held, rules)
		for _, mtu := range []ib.MTU{ib.MTU4096, ib.MTU2048} {
			rules.MaxMTU = mtu
			rounds := 0
			for again := true; again; rounds++ {
				var stages []plan.Stage
				stages, again = plan.Links(e.sweep(), rules)
				e.send(held, stages...)
			}
			if want := int(ib.MTU4096-mtu) + 1; rounds != want {
				e.Errorf("MTU %v: %d rounds, want %d", mtu, rounds, want)
			}
			for _, n := range e.sweep().Nodes {
				for i := range n.Ports {
					x := &n.Ports[i].Info
					if _, _, ok := n.Peer(uint8(i)); ok && (x.PortState != mad.PortActive || x.NeighborMTU != mtu) {
						e.Errorf("MTU %v: %s port %d is %v, %v", mtu, n.Label(), i, x.PortState, x.NeighborMTU)
					}
				}
			}
		}
	})
}

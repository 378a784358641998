package emu_test

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"heddle/emu"
	"heddle/fabric"
	"heddle/internal/testenv"
)

// TestPeerCounters: perfquery sees what crosses a port, in 32 and in 64 bits, of
// one port and of all, and resets it.
func TestPeerCounters(t *testing.T) {
	f := generate(t, "single:hosts=3")
	s, _ := broughtUp(t, f, emu.Config{})
	sw := f.Switches()[0]
	lid := s.lid(t, f.Node(sw).ID).String()
	before := s.counters(t, lid, "2")
	host := s.lid(t, f.Node(f.Adapters()[1]).ID).String()
	for range 3 {
		s.diag(t, "smpquery", "nodeinfo", host) // is at port 2
	}
	after := s.counters(t, lid, "2")
	sent, words := after["PortXmitPkts"]-before["PortXmitPkts"], after["PortXmitData"]-before["PortXmitData"]
	if received := after["PortRcvPkts"] - before["PortRcvPkts"]; sent != 3 || received != 3 || words != 3*(256+32)/4 {
		t.Errorf("3 queries are %d packets out, %d in, %d words out", sent, received, words)
	}
	wide := s.counters(t, "-x", lid, "2")
	for _, name := range []string{"PortXmitPkts", "PortRcvPkts", "PortXmitData", "PortRcvData"} {
		if wide[name] != after[name] || wide[name] == 0 {
			t.Errorf("%s is %d, in 64 bits %d", name, after[name], wide[name])
		}
	}
	if wide["PortUnicastXmitPkts"] != wide["PortXmitPkts"] || wide["PortMulticastXmitPkts"] != 0 {
		t.Errorf("unicast and multicast: %v", wide)
	}
	all, sum := s.counters(t, "-a", lid), after["PortXmitPkts"]+s.counters(t, lid, "3")["PortXmitPkts"]
	if all["PortSelect"] != 255 || all["PortXmitPkts"] <= sum {
		t.Errorf("of all ports: %v; without port 1 %d packets are sent", all, sum)
	}
	s.diag(t, "perfquery", "-R", lid, "2")
	if c := s.counters(t, lid, "2"); c["PortXmitPkts"] != 0 || c["PortRcvData"] != 0 {
		t.Errorf("after the reset %v", c)
	}
	if now := s.counters(t, "-x", lid, "2")["PortXmitPkts"]; now != after["PortXmitPkts"] {
		t.Errorf("a reset of the short counters leaves %d packets in the long one, %d before", now, after["PortXmitPkts"])
	}
}

// counters are those that perfquery prints.
func (s *served) counters(t *testing.T, args ...string) map[string]uint64 {
	t.Helper()
	counters := map[string]uint64{}
	for _, line := range plain(s.diag(t, "perfquery", args...)) {
		name, value, _ := strings.Cut(line, ": ")
		if n, err := strconv.ParseUint(value, 0, 64); err == nil {
			counters[name] = n
		}
	}
	if len(counters) < 10 {
		t.Fatalf("perfquery %v tells only %v", args, counters)
	}
	return counters
}

// TestQueryErrors: ibqueryerrors finds the errors that there are. It reads no
// counters of what stands at the end of a datagram, which the preloaded
// library cuts off.
func TestQueryErrors(t *testing.T) {
	f := generate(t, "single:hosts=3")
	s, _ := broughtUp(t, f, emu.Config{})
	cut := []string{"-s", "VL15Dropped,PortXmitWait,QP1Dropped"}
	if out := s.diag(t, "ibqueryerrors", cut...); strings.Contains(out, "GUID") {
		t.Errorf("errors where there are none:\n%s", out)
	}
	s.do(t, func(sub *emu.Subnet) {
		e := fabric.End{Node: f.Switches()[0], Port: 2}
		for range 3 {
			sub.CutLink(f.Port(e).Link)
			sub.RestoreLink(f.Port(e).Link)
		}
	})
	out, err := testenv.TryDiag(t, s.name, "", "ibqueryerrors", cut...) // fails where it finds some
	want := fmt.Sprintf("GUID %#x port 2: [LinkDownedCounter == 3", uint64(f.Node(f.Switches()[0]).GUID))
	if err == nil || !strings.Contains(out, want) {
		t.Errorf("%v; not found: %s\n%s", err, want, out)
	}
}

var linkInfo = regexp.MustCompile(`(?m)^(0x[0-9a-f]+) +"(.*?)" +(\d+) +(\d+)\[ *\] ==\( (.*?)\)==> +(0x[0-9a-f]+) +(\d+) +(\d+)\[ *\] "(.*?)"`)

// TestLinkInfo: iblinkinfo lists each end of each cable with its state.
func TestLinkInfo(t *testing.T) {
	f := generate(t, "fat-tree:k=4,rate=4xFDR")
	s, _ := broughtUp(t, f, emu.Config{})
	found := linkInfo.FindAllStringSubmatch(s.diag(t, "iblinkinfo", "-l"), -1)
	if len(found) != 2*f.NumLinks() {
		t.Errorf("%d ends of %d links", len(found), f.NumLinks())
	}
	spaces := regexp.MustCompile(` +`)
	for _, m := range found {
		ids := f.ByName(strings.TrimSpace(m[2]))
		if len(ids) != 1 {
			t.Fatalf("no such node: %s", m[0])
		}
		e := fabric.End{Node: ids[0], Port: number(t, m[4])}
		peer, ok := f.Peer(e)
		if !ok || m[3] != s.lid(t, f.Node(e.Node).ID).String() || m[7] != s.lid(t, f.Node(peer.Node).ID).String() ||
			m[9] != f.Node(peer.Node).Name || number(t, m[8]) != peer.Port {
			t.Errorf("no such link, or with other LIDs: %s", m[0])
		}
		if state := spaces.ReplaceAllString(m[5], " "); state != "4X 14.0625 Gbps Active/ LinkUp" {
			t.Errorf("%s is %q", f.EndLabel(e), state)
		}
	}
}

// TestPortState: ibportstate takes a link down and lets it come up; OpenSM
// makes it active again.
func TestPortState(t *testing.T) {
	f := generate(t, "fat-tree:k=4")
	s, sm := broughtUp(t, f, emu.Config{})
	e := fabric.End{Node: f.Switches()[0], Port: 1}
	peer, _ := f.Peer(e)
	lid, peerLID := s.lid(t, f.Node(e.Node).ID).String(), s.lid(t, f.Node(peer.Node).ID).String()
	ofPeer := fmt.Sprint("portinfo ", peer.Port)

	s.diag(t, "ibportstate", lid, "1", "disable")
	sm.WaitSubnetUp(t)
	s.ask(t, "smpquery %s "+lid, []query{{"portinfo 1", []string{"LinkState: Down", "PhysLinkState: Disabled"}}})
	s.ask(t, "smpquery %s "+peerLID, []query{{ofPeer, []string{"LinkState: Down", "PhysLinkState: Polling"}}})
	s.diag(t, "ibportstate", lid, "1", "enable")
	sm.WaitSubnetUp(t)
	out := s.diag(t, "ibportstate", lid, "1", "query")
	if strings.Count(out, "PhysLinkState:...................LinkUp") != 2 || strings.Count(out, "Active\n") != 2 {
		t.Errorf("the port and its peer are not active again:\n%s", out)
	}
}

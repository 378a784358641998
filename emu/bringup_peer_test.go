package emu_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"heddle/emu"
	"heddle/fabric"
	"heddle/fabric/format"
	"heddle/ib"
)

// TestBringUp: OpenSM brings subnets up and finds nothing wrong with them, and
// what ibnetdiscover finds then is the fabric that was loaded.
func TestBringUp(t *testing.T) {
	tests := []struct {
		file, standIn string
		options       []string // of OpenSM
	}{
		{"", "fat-tree:k=8", nil},
		{"", "fat-tree:k=16", nil},
		{"", "torus:4x4x3,e=2", nil},
		{"", "dragonfly:a=4,p=2,h=2", []string{"lmc 1"}},
		{"", "single:hosts=5,rate=4xNDR", []string{"lmc 3"}},
		{"topograph-ibnetdiscover-example.out", "fat-tree:k=12", nil},
		{"nvidia-selene.storage.txt", "fat-tree:k=12", nil},
		{"fdr-rocket-tartu.topo", "fat-tree:k=4,rate=4xQDR", []string{"lmc 1"}},
		{"ibtopotool-2.topo", "ring:n=4", nil},
		{"ibtopotool-3.topo", "ring:n=4", nil},
		{"ibtopotool-4.topo", "ring:n=4", nil},
		{"ibtopotool-1.topo", "ring:n=4", nil},
		{"ibsim-net", "ring:n=4", nil},
		{"ibsim-net.1", "ring:n=4", nil},
		{"ibsim-net.2sw2path4hca", "ring:n=4", []string{"lmc 1"}},
	}
	for _, test := range tests {
		t.Run(test.file+" "+test.standIn, func(t *testing.T) {
			f := generate(t, test.standIn)
			if test.file != "" {
				f = published(t, test.file, test.standIn)
			}
			s, sm := broughtUp(t, f, emu.Config{}, test.options...)
			s.checkFound(t)
			checkLog(t, sm.Log())
		})
	}
}

// TestOddities is a small fabric of what is rare: each width and speed,
// a cable with both ends in one switch, an adapter with two ports in two
// switches, switches of 1 and of 254 ports, names of 64 bytes and with any
// signs.
func TestOddities(t *testing.T) {
	s, sm := broughtUp(t, oddities(), emu.Config{EnhancedPort0: true})
	s.checkFound(t)
	checkLog(t, sm.Log())
}

func oddities() *fabric.Fabric {
	var b fabric.Builder
	end := func(kind fabric.Kind, guid ib.GUID, name string, ports, port uint16) fabric.End {
		n := fabric.Node{GUID: guid, Name: name, Kind: kind, NumPorts: ports, MulticastCap: fabric.CapUnknown}
		return fabric.End{Node: b.AddNode(n, fabric.Place{}), Port: port}
	}
	cable := func(x fabric.End, port uint16, y fabric.End, w ib.Width, v ib.Speed) {
		x.Port = port
		b.Cable(x, y, ib.LinkRate{Width: w, Speed: v}, fabric.Place{})
	}
	big := end(fabric.Switch, 0x10, "big; with \"quotes\" and # and  two spaces", 254, 0)
	small := end(fabric.Switch, 0x20, strings.Repeat("s", 64), 36, 1)
	cable(big, 254, small, ib.Width12x, ib.EDR)
	cable(big, 252, fabric.End{Node: big.Node, Port: 253}, ib.Width4x, ib.HDR)
	b.SetPort(fabric.End{Node: small.Node}, fabric.PortInfo{GUID: 0x21}, fabric.Place{})
	port := uint16(0)
	for w := ib.Width(1); w.IsValid(); w++ {
		for v := ib.SDR; v < ib.XDR; v++ { // which the programs do not know
			if port++; v != ib.FDR10 { // for which they ask Mellanox's devices only
				cable(big, port, end(fabric.Adapter, 0x1000+ib.GUID(port)<<4, fmt.Sprint("host ", port), 1, 1), w, v)
			}
		}
	}
	rails := end(fabric.Adapter, 0x2000, "rails", 2, 1)
	cable(big, 200, rails, ib.Width4x, ib.NDR)
	cable(small, 36, fabric.End{Node: rails.Node, Port: 2}, ib.Width4x, ib.NDR)
	b.SetPort(rails, fabric.PortInfo{GUID: 0xABC}, fabric.Place{})
	f, _ := b.Build()
	return f
}

// checkFound holds what ibnetdiscover finds against what was loaded.
func (s *served) checkFound(t *testing.T) {
	t.Helper()
	if diff := s.differs(t, s.fabric); diff != "" {
		t.Errorf("-loaded +found:\n%s", diff)
	}
}

// differs tells how what ibnetdiscover finds is not the fabric.
func (s *served) differs(t *testing.T, f *fabric.Fabric) string {
	t.Helper()
	return gocmp.Diff(described(t, f, s), described(t, s.found(t), nil))
}

// found is the fabric that ibnetdiscover finds.
func (s *served) found(t *testing.T) *fabric.Fabric {
	t.Helper()
	f, faults, err := format.Read(strings.NewReader(s.diag(t, "ibnetdiscover")), "ibnetdiscover", "")
	if err != nil || len(faults) > 0 {
		t.Fatal(err, faults)
	}
	return f
}

// described is what is known of a fabric, a line for each node and each end of
// a link, by GUIDs. The LIDs are those that a subnet manager gave, or where s
// is nil those that the fabric tells.
func described(t *testing.T, f *fabric.Fabric, s *served) map[string]string {
	t.Helper()
	lines := map[string]string{}
	for i := range f.NumNodes() {
		id := fabric.NodeID(i)
		n := f.Node(id)
		if !f.NodeUp(id) {
			continue
		}
		system := cmp.Or(n.SystemGUID, n.GUID)
		line := fmt.Sprintf("%v %q, %d ports, system %v", n.Kind, n.Name, n.NumPorts, system)
		if n.Kind == fabric.Switch {
			line += ", " + address(t, f, s, fabric.End{Node: id})
		}
		lines[n.GUID.String()] = line
		for e, peer := range f.Ports(id) {
			line := fmt.Sprintf("to %v/%d, %v", f.Node(peer.Node).GUID, peer.Port, rateOf(f.Link(f.Port(e).Link)))
			if n.Kind != fabric.Switch {
				line += ", " + address(t, f, s, e)
			}
			lines[fmt.Sprintf("%v/%d", n.GUID, e.Port)] = line
		}
	}
	return lines
}

// rateOf is that of a link; one of which the fabric does not tell gets the
// rate that ibsim gives to it.
func rateOf(l fabric.Link) ib.LinkRate {
	if !l.Rate.IsValid() {
		return ib.LinkRate{Width: ib.Width4x, Speed: ib.SDR}
	}
	return l.Rate
}

// address is the GUID and the LIDs of a port.
func address(t *testing.T, f *fabric.Fabric, s *served, e fabric.End) string {
	t.Helper()
	port := f.Port(e)
	if s != nil {
		info := s.info(t, f.Node(e.Node).ID, e.Port)
		port.GUID = cmp.Or(port.GUID, info.PortGUID)
		port.LID, port.LMC = info.LID, info.LMC
	}
	return fmt.Sprintf("port %v, LID %v/%d", port.GUID, port.LID, port.LMC)
}

// checkLog finds errors that OpenSM tells of, but for those that are expected.
func checkLog(t *testing.T, log string, expected ...string) {
	t.Helper()
	for line := range strings.Lines(log) {
		known := func(text string) bool { return strings.Contains(line, text) }
		if strings.Contains(line, " ERR ") && !slices.ContainsFunc(expected, known) {
			t.Error(strings.TrimSpace(line))
		}
	}
}

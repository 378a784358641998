package route_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"heddle/fabric"
	"heddle/ib"
	"heddle/route"
)

// addressed is a switch with two hosts, whose ports have these LIDs and LMCs:
// switch, first host, second host.
func addressed(ports ...fabric.PortInfo) *fabric.Fabric {
	var b fabric.Builder
	b.AddNode(fabric.Node{GUID: 1, Name: "switch", Kind: fabric.Switch, NumPorts: 4}, fabric.Place{})
	b.AddNode(fabric.Node{GUID: 2, Name: "one", Kind: fabric.Adapter, NumPorts: 1}, fabric.Place{})
	b.AddNode(fabric.Node{GUID: 3, Name: "two", Kind: fabric.Adapter, NumPorts: 2}, fabric.Place{})
	for i := range fabric.NodeID(2) {
		b.Cable(fabric.End{Node: 0, Port: uint16(i + 1)}, fabric.End{Node: i + 1, Port: 1}, ib.LinkRate{}, fabric.Place{})
	}
	for i, p := range ports {
		e := fabric.End{Node: fabric.NodeID(i)}
		if i > 0 {
			e.Port = 1
		}
		b.SetPort(e, p, fabric.Place{})
	}
	f, _ := b.Build()
	return f
}

// owners lists the node of each LID from 1 on, -1 for none.
func owners(l *route.LIDs) []fabric.NodeID {
	var list []fabric.NodeID
	for lid := ib.MinUnicastLID; lid <= l.Top(); lid++ {
		e, _ := l.Owner(lid)
		list = append(list, e.Node)
	}
	return list
}

func TestLIDsOf(t *testing.T) {
	port := func(lid ib.LID, lmc uint8) fabric.PortInfo { return fabric.PortInfo{LID: lid, LMC: lmc} }
	tests := []struct {
		name  string
		ports []fabric.PortInfo
		want  []fabric.NodeID
		fault string // part of the error
	}{
		{"none at all", nil, []fabric.NodeID{0, 1, 2}, ""},
		{"all", []fabric.PortInfo{port(2, 0), port(5, 0), port(1, 0)}, []fabric.NodeID{2, 0, -1, -1, 1}, ""},
		{"LMC", []fabric.PortInfo{port(1, 0), port(2, 1), port(4, 2)}, []fabric.NodeID{0, 1, 1, 2, 2, 2, 2}, ""},
		{"some", []fabric.PortInfo{port(1, 0), port(2, 0)}, nil, "two (0x0000000000000003) port 1 has no LID, as 1 of 3 ports"},
		{"twice", []fabric.PortInfo{port(1, 0), port(2, 0), port(1, 0)}, nil, "has LID 1, as switch"},
		{"overlap", []fabric.PortInfo{port(1, 0), port(2, 2), port(5, 0)}, nil, "has LID 5, as one"},
		{"not unicast", []fabric.PortInfo{port(1, 0), port(0xc000, 0), port(2, 0)}, nil, "has LID 49152, unicast LIDs are 1 to 49151"},
		{"beyond by LMC", []fabric.PortInfo{port(1, 0), port(0xbffe, 2), port(2, 0)}, nil, "has LID 49152"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			l, err := route.LIDsOf(addressed(test.ports...))
			if test.fault != "" {
				var fault *route.LIDError
				if !errors.As(err, &fault) || !strings.Contains(err.Error(), test.fault) {
					t.Errorf("error %v, want %q", err, test.fault)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, owners(l)); diff != "" {
				t.Errorf("owners from LID 1 (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAssignLIDs(t *testing.T) {
	l, err := route.AssignLIDs(addressed(), 2)
	if err != nil {
		t.Fatal(err)
	}
	want := []fabric.NodeID{0, -1, -1, 1, 1, 1, 1, 2, 2, 2, 2} // from multiples of 4
	if diff := cmp.Diff(want, owners(l)); diff != "" {
		t.Errorf("owners from LID 1 (-want +got):\n%s", diff)
	}
	if _, ok := l.Owner(0); ok {
		t.Error("LID 0 has an owner")
	}
	if _, err := route.AssignLIDs(addressed(), 8); err == nil {
		t.Error("LMC 8 is taken")
	}
}

// TestTooManyLIDs: a fabric of 65,536 end nodes cannot be addressed; the error
// names the limit.
func TestTooManyLIDs(t *testing.T) {
	f := generate(t, "fat-tree:k=60") // 54,000 end nodes, 4,500 switches
	_, err := route.LIDsOf(f)
	var many *route.TooManyLIDsError
	if !errors.As(err, &many) || many.Need != 58500 || !strings.Contains(err.Error(), "49151") {
		t.Errorf("LIDsOf: %v", err)
	}
}

func TestLFTsNameTooManyPorts(t *testing.T) {
	f := generate(t, "bluelight")
	lids, err := route.LIDsOf(f)
	if err != nil {
		t.Fatal(err)
	}
	_, err = route.NewLFTs(route.NewGraph(f, route.Selection{}), lids)
	if _, ok := errors.AsType[*route.PortRangeError](err); !ok {
		t.Errorf("NewLFTs: %v, want a PortRangeError", err)
	}
}

package emu_test

import (
	"slices"
	"testing"

	"heddle/emu"
	"heddle/ib"
	"heddle/mad"
)

func TestDirectedRoute(t *testing.T) {
	p := attach(t, newSubnet(t, line(t, 3), emu.Config{}), "H1")
	tests := []struct {
		name string
		path []uint8
		want ib.GUID // 0 where nothing answers
	}{
		{"to itself", nil, 0x100},
		{"one hop", []uint8{1}, 0x10},
		{"to the far end", []uint8{1, 2, 2, 2}, 0x200},
		{"and back", []uint8{1, 2, 1, 2, 1, 1}, 0x100},
		{"out of a port that the sender has not got", []uint8{2}, 0},
		{"out of port 0", []uint8{1, 0}, 0},
		{"out of a port without a cable", []uint8{1, 3}, 0},
		{"out of a port that the switch has not got", []uint8{1, 9}, 0},
		{"through an adapter", []uint8{1, 2, 2, 2, 1}, 0},
		{"of the most hops", append([]uint8{1}, slices.Repeat([]uint8{2, 1}, 31)...), 0x10},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			answer, ok := p.ask(smp{path: test.path, attr: mad.AttrNodeInfo})
			if ok != (test.want != 0) {
				t.Fatalf("answered: %v", ok)
			}
			if !ok {
				return
			}
			info, err := mad.ParseNodeInfo(answer.Data())
			if err != nil || info.NodeGUID != test.want {
				t.Errorf("node %v, %v, want %v", info.NodeGUID, err, test.want)
			}
			if answer.HopPointer() != 0 || !answer.Returning() || answer.Method() != mad.MethodGetResp {
				t.Errorf("hop pointer %d, returning %v, method %v", answer.HopPointer(), answer.Returning(), answer.Method())
			}
		})
	}
}

func TestReturnPath(t *testing.T) {
	p := attach(t, newSubnet(t, line(t, 3), emu.Config{}), "H1")
	answer, ok := p.ask(smp{path: []uint8{1, 2, 2, 4}, attr: mad.AttrNodeInfo})
	if !ok {
		t.Fatal("no answer")
	}
	if got := answer.ReturnPath()[1:5]; !slices.Equal(got, []uint8{1, 1, 1, 1}) {
		t.Errorf("return path %v, want the ports of arrival, 1 each", got)
	}
}

// TestHopPointerOutOfPlace gives headers that no sender makes.
func TestHopPointerOutOfPlace(t *testing.T) {
	p := attach(t, newSubnet(t, line(t, 1), emu.Config{}), "H1")
	for _, q := range []struct{ pointer, count uint8 }{{2, 1}, {3, 1}, {64, 63}, {255, 255}, {0, 64}, {1, 200}} {
		_, ok := p.ask(smp{path: []uint8{1}, attr: mad.AttrNodeInfo, mutate: func(k *emu.Packet) {
			k.MAD[6], k.MAD[7] = q.pointer, q.count
		}})
		if ok {
			t.Errorf("hop pointer %d of %d is answered", q.pointer, q.count)
		}
	}
}

// TestMixedRoutes are directed routes whose first or last part goes by LID.
func TestMixedRoutes(t *testing.T) {
	p := attach(t, newSubnet(t, line(t, 3), emu.Config{}), "H1")
	p.program(3)
	tests := []struct {
		name       string
		path       []uint8
		slid, dlid ib.LID // DrSLID, DrDLID
		to         ib.LID // the LID that the packet starts for
		want       ib.GUID
	}{
		{"by LID, then directed", []uint8{2}, 1, ib.PermissiveLID, 12, 0x12},
		{"by LID, then directed to an adapter", []uint8{2, 4}, 1, ib.PermissiveLID, 12, 0x300},
		{"directed, then by LID", []uint8{1}, ib.PermissiveLID, 2, ib.PermissiveLID, 0x200},
		{"directed, then by LID to the switch itself", []uint8{1, 2}, ib.PermissiveLID, 12, ib.PermissiveLID, 0x11},
		{"by LID, directed, by LID", []uint8{2}, 1, 3, 11, 0x300},
		{"by LID to an adapter, then directed", []uint8{1}, 1, ib.PermissiveLID, 2, 0},
		{"directed to an adapter, then by LID", []uint8{1, 2, 2, 2}, ib.PermissiveLID, 1, ib.PermissiveLID, 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			answer, ok := p.ask(smp{path: test.path, attr: mad.AttrNodeInfo, mutate: func(k *emu.Packet) {
				k.DLID, k.SLID = test.to, 0
				k.MAD[32], k.MAD[33] = byte(test.slid>>8), byte(test.slid)
				k.MAD[34], k.MAD[35] = byte(test.dlid>>8), byte(test.dlid)
			}})
			if ok != (test.want != 0) {
				t.Fatalf("answered: %v", ok)
			}
			if !ok {
				return
			}
			if info, err := mad.ParseNodeInfo(answer.Data()); err != nil || info.NodeGUID != test.want {
				t.Errorf("node %v, %v, want %v", info.NodeGUID, err, test.want)
			}
		})
	}
}

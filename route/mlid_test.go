package route_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"heddle/fabric"
	"heddle/ib"
	"heddle/route"
)

// line is a row of switches with a host each; caps are their multicast tables.
func line(caps ...int32) *fabric.Fabric {
	var b fabric.Builder
	for i, n := range caps {
		b.AddNode(fabric.Node{GUID: ib.GUID(i + 1), Name: "switch-" + string(rune('a'+i)), Kind: fabric.Switch, NumPorts: 3, MulticastCap: n}, fabric.Place{})
	}
	for i := range caps {
		host := b.AddNode(fabric.Node{GUID: ib.GUID(100 + i), Name: "host-" + string(rune('a'+i)), Kind: fabric.Adapter, NumPorts: 1}, fabric.Place{})
		b.Cable(fabric.End{Node: host, Port: 1}, fabric.End{Node: fabric.NodeID(i), Port: 1}, ib.LinkRate{}, fabric.Place{})
		if i > 0 {
			b.Cable(fabric.End{Node: fabric.NodeID(i - 1), Port: 3}, fabric.End{Node: fabric.NodeID(i), Port: 2}, ib.LinkRate{}, fabric.Place{})
		}
	}
	f, _ := b.Build()
	return f
}

// pairs makes a group of two hosts for each two letters.
func pairs(f *fabric.Fabric, names ...string) []fabric.Group {
	var groups []fabric.Group
	for _, two := range names {
		g := fabric.Group{Name: two}
		for _, c := range two {
			g.Members = append(g.Members, fabric.End{Node: f.ByName("host-" + string(c))[0], Port: 1})
		}
		groups = append(groups, g)
	}
	return groups
}

func TestSmallTablesGetLowMLIDs(t *testing.T) {
	const many = fabric.CapUnknown
	tests := []struct {
		name   string
		caps   []int32
		groups []string
		want   []ib.MLID
		err    error
	}{
		{"no limit", []int32{many, many, many}, []string{"ab", "bc", "ac"}, []ib.MLID{0xc000, 0xc001, 0xc002}, nil},
		{"the last first", []int32{many, many, 1}, []string{"ab", "ab", "bc"}, []ib.MLID{0xc001, 0xc002, 0xc000}, nil},
		{"two sizes", []int32{3, many, 1}, []string{"ab", "ab", "bc"}, []ib.MLID{0xc001, 0xc002, 0xc000}, nil},
		{"of one member or on one switch", []int32{1, 1, many}, []string{"a", "c", "ab"}, []ib.MLID{0xc001, 0xc002, 0xc000}, nil},
		{"full", []int32{many, 2, many}, []string{"ab", "bc", "ac"}, nil, &route.TableFullError{Switch: "switch-b (0x0000000000000002)", Cap: 2, Groups: 3}},
		{"full by another", []int32{1, many, 2}, []string{"ab", "bc", "bc"}, nil, &route.TableFullError{Switch: "switch-c (0x0000000000000003)", Cap: 2, Groups: 3}},
		{"full and larger", []int32{many, 1, 60000}, []string{"ab", "bc"}, nil, &route.TableFullError{Switch: "switch-b (0x0000000000000002)", Cap: 1, Groups: 2}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f := line(test.caps...)
			r := layGroups(t, f, pairs(f, test.groups...), "minihop")
			got, err := route.AssignMLIDs(r.s, r.d)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("MLIDs (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.err, err); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
		})
	}
}

// TestMLIDsFitWhereAnyOrderFits: by trying all orders of a few groups.
func TestMLIDsFitWhereAnyOrderFits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		caps := rapid.SliceOfN(rapid.SampledFrom([]int32{1, 2, 3, 4, fabric.CapUnknown}), 4, 4).Draw(t, "caps")
		names := rapid.SliceOfN(rapid.SampledFrom([]string{"ab", "bc", "cd", "ac", "bd", "ad"}), 1, 5).Draw(t, "groups")
		f := line(caps...)
		g := route.NewGraph(f, route.Selection{})
		r := layAll(t, g, hopsOf(t, g), pairs(f, names...), minihop(t), noOptions)
		mlids, err := route.AssignMLIDs(r.s, r.d)
		if want := anyOrder(r, make([]bool, len(names)), make([]ib.MLID, len(names)), 0); want != (err == nil) {
			t.Fatalf("some order fits: %v, AssignMLIDs: %v", want, err)
		}
		if err != nil {
			return
		}
		if _, err := route.NewMFTs(r.s, r.d, mlids); err != nil {
			t.Errorf("the MLIDs do not fit: %v", err)
		}
	})
}

// anyOrder gives the MLIDs from the at-th on to the groups that have none, in all
// orders, until one fits.
func anyOrder(r routed, given []bool, mlids []ib.MLID, at int) bool {
	if at == len(given) {
		_, err := route.NewMFTs(r.s, r.d, mlids)
		return err == nil
	}
	for i := range given {
		if given[i] {
			continue
		}
		given[i], mlids[i] = true, ib.FirstMLID+ib.MLID(at)
		if anyOrder(r, given, mlids, at+1) {
			return true
		}
		given[i] = false
	}
	return false
}

func TestTooManyGroups(t *testing.T) {
	f := line(fabric.CapUnknown, fabric.CapUnknown)
	for _, n := range []int{ib.NumMLIDs, ib.NumMLIDs + 1} {
		groups := make([]fabric.Group, n)
		for i := range groups {
			groups[i] = pairs(f, "ab")[0]
		}
		r := layGroups(t, f, groups, "minihop")
		mlids, err := route.AssignMLIDs(r.s, r.d)
		if n == ib.NumMLIDs {
			if err != nil || mlids[n-1] != ib.LastMLID {
				t.Errorf("%d groups: %v, the last MLID is %v", n, err, mlids[n-1])
			}
			continue
		}
		var many *route.TooManyGroupsError
		if !errors.As(err, &many) || !strings.Contains(err.Error(), "16383") {
			t.Errorf("%d groups: %v, want a TooManyGroupsError that names the limit", n, err)
		}
	}
}

// TestNoTableAtAll: through a switch that cannot multicast, in a graph that has
// it, no group can be programmed.
func TestNoTableAtAll(t *testing.T) {
	f := line(fabric.CapUnknown, 0, fabric.CapUnknown)
	g := route.NewGraph(f, route.Selection{})
	r := layAll(t, g, hopsOf(t, g), pairs(f, "ac"), minihop(t), noOptions)
	_, err := route.AssignMLIDs(r.s, r.d)
	if err == nil || !strings.Contains(err.Error(), "switch-b") || !strings.Contains(err.Error(), "cannot multicast") {
		t.Errorf("AssignMLIDs: %v", err)
	}
}

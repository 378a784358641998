package pattern

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"heddle/fabric"
	"heddle/fabric/topology"
)

func between(t *rapid.T, name string, lo, hi int) int { return rapid.IntRange(lo, hi).Draw(t, name) }

func drawFabric(t *rapid.T) *fabric.Fabric {
	f, err := topology.Generate(fmt.Sprintf("random:switches=%d,hosts=%d", between(t, "switches", 1, 12), between(t, "hosts", 1, 5)))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// slowGrid sorts the ranks by coordinates into maps.
func slowGrid(at func(rank int) fabric.End, dims []int) [][]fabric.End {
	total := 1
	for _, size := range dims {
		total *= size
	}
	var groups [][]fabric.End
	for d := range dims {
		if dims[d] == 1 {
			continue
		}
		rows := map[string][]fabric.End{}
		var order []string
		for rank := range total {
			key, rest := "", rank
			for i, size := range dims {
				if i != d {
					key += fmt.Sprint(rest%size, " ")
				}
				rest /= size
			}
			if rows[key] == nil {
				order = append(order, key)
			}
			if e := at(rank); !slices.Contains(rows[key], e) {
				rows[key] = append(rows[key], e)
			}
		}
		for _, key := range order {
			groups = append(groups, rows[key])
		}
	}
	return groups
}

// TestGridAgainstOracle: for each shuffle, a grid of one dimension shows where
// the ranks are, and the rows of any other grid follow from it.
func TestGridAgainstOracle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := drawFabric(t)
		procs, seed := between(t, "procs", 1, 4), rapid.Uint64().Draw(t, "seed")
		room := len(f.EndPorts()) * procs
		dims := drawDims(t, room)
		order := fmt.Sprintf(",procs=%d,order=%s,seed=%d", procs, rapid.SampledFrom([]string{aware, oblivious}).Draw(t, "order"), seed)
		s, err := Parse("grid:" + strings.ReplaceAll(strings.Trim(fmt.Sprint(dims), "[]"), " ", "x") + order)
		if err != nil {
			t.Fatal(err)
		}
		r, err := s.shape.(grid).place(f)
		if err != nil {
			t.Fatal(err)
		}
		checkRoom(t, r, f, procs)
		groups, err := s.Generate(f)
		if err != nil {
			t.Fatal(err)
		}
		var got [][]fabric.End
		for _, g := range groups {
			got = append(got, g.Members)
		}
		want := slowGrid(func(rank int) fabric.End { return r.ends[r.at[rank]] }, dims)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%v (-want +got):\n%s", s, diff)
		}
	})
}

// drawDims draws sizes whose product is at most room.
func drawDims(t *rapid.T, room int) []int {
	dims := []int{between(t, "size", 1, room)}
	for room /= dims[0]; room > 1 && len(dims) < 5; room /= dims[len(dims)-1] {
		dims = append(dims, between(t, "size", 1, room))
	}
	return dims
}

// checkRoom: whatever the order, each end port has as many ranks as asked for.
func checkRoom(t *rapid.T, r *ranks, f *fabric.Fabric, procs int) {
	on := map[fabric.End]int{}
	for _, i := range r.at {
		on[r.ends[i]]++
	}
	for _, e := range f.EndPorts() {
		if on[e] != procs {
			t.Errorf("%s has %d ranks, want %d", f.EndLabel(e), on[e], procs)
		}
	}
	if len(on) != len(f.EndPorts()) {
		t.Errorf("%d ends have ranks, want %d", len(on), len(f.EndPorts()))
	}
}

// TestRanksInRows: with one process on each end port, each process is in
// exactly one group of each dimension.
func TestRanksInRows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := drawFabric(t)
		dims := drawDims(t, len(f.EndPorts()))
		text := "grid:" + strings.ReplaceAll(strings.Trim(fmt.Sprint(dims), "[]"), " ", "x")
		groups, err := Generate(f, text+",order=oblivious")
		if err != nil {
			t.Fatal(err)
		}
		total := 1
		for _, size := range dims {
			total *= size
		}
		seen := map[string]map[fabric.End]bool{}
		for _, g := range groups {
			dim, _, _ := strings.Cut(g.Name, "-")
			if seen[dim] == nil {
				seen[dim] = map[fabric.End]bool{}
			}
			for _, e := range g.Members {
				if seen[dim][e] {
					t.Errorf("%s is twice in %s", f.EndLabel(e), dim)
				}
				seen[dim][e] = true
			}
		}
		for dim, members := range seen {
			if len(members) != total {
				t.Errorf("%s: %d processes, want %d", dim, len(members), total)
			}
		}
	})
}

func TestRandomGroups(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := drawFabric(t)
		ends := f.EndPorts()
		count, size := between(t, "groups", 1, 20), between(t, "size", 1, len(ends))
		groups, err := Generate(f, fmt.Sprintf("random:%dx%d,seed=%d", count, size, rapid.Uint64().Draw(t, "seed")))
		if err != nil {
			t.Fatal(err)
		}
		if len(groups) != count {
			t.Errorf("%d groups, want %d", len(groups), count)
		}
		for _, g := range groups {
			members := map[fabric.End]bool{}
			for _, e := range g.Members {
				members[e] = slices.Contains(ends, e)
			}
			if len(members) != size || len(g.Members) != size {
				t.Errorf("%s has %d members, %d of them different, want %d", g.Name, len(g.Members), len(members), size)
			}
		}
	})
}

// TestHierarchyIsATree: the groups of a plain hierarchy join all ranks, and
// each group but the first brings in new ones by its members but one.
func TestHierarchyIsATree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := drawFabric(t)
		n, size := len(f.EndPorts()), between(t, "size", 2, 9)
		groups, err := Generate(f, fmt.Sprintf("hierarchy:%d,order=oblivious", size))
		if err != nil {
			t.Fatal(err)
		}
		joined := map[fabric.End]fabric.End{} // union-find, without its finesse
		top := func(e fabric.End) fabric.End {
			for up, ok := joined[e]; ok; up, ok = joined[e] {
				e = up
			}
			return e
		}
		edges := 0
		for _, g := range groups {
			if len(g.Members) < 2 || len(g.Members) > size {
				t.Errorf("%s has %d members", g.Name, len(g.Members))
			}
			for _, e := range g.Members[1:] {
				a, b := top(g.Members[0]), top(e)
				if a == b {
					t.Errorf("%s closes a loop", g.Name)
					return
				}
				joined[b] = a
				edges++
			}
		}
		if edges != n-1 {
			t.Errorf("%d ranks are joined to others, want %d", edges, n-1)
		}
	})
}

func TestWriteAndRead(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := drawFabric(t)
		ends := f.EndPorts()
		for _, s := range f.Switches() {
			ends = append(ends, fabric.End{Node: s})
		}
		var want []fabric.Group
		for range between(t, "groups", 0, 5) {
			members := rapid.SliceOfNDistinct(rapid.SampledFrom(ends), 1, len(ends), rapid.ID).Draw(t, "members")
			want = append(want, fabric.Group{Name: rapid.String().Draw(t, "name"), Members: members})
		}
		var b strings.Builder
		if err := WriteGroups(&b, want, f); err != nil {
			t.Fatal(err)
		}
		got, err := ReadGroups(strings.NewReader(b.String()), "groups", f)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("read from %q (-want +got):\n%s", b.String(), diff)
		}
	})
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{
		"grid:3x2", "grid:2x2,procs=4,order=oblivious,seed=2", "grid:1x1x1", "grid:99999x99999x99999", "random:3x4,seed=1",
		"hierarchy:2x3", "hierarchy:16", "file:x", `file:"a,b"`, "grid:2,placement=x,order=file,skip=aggregation", "",
	} {
		f.Add(text)
	}
	small, err := topology.Generate("fat-tree:k=4")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := Parse(text)
		if (err == nil) != (s.shape != nil) {
			t.Fatalf("spec %v and error %v", s, err)
		}
		if err != nil || strings.Contains(text, "file") || strings.Contains(text, "placement") || tooLong(s) {
			return
		}
		groups, err := s.Generate(small)
		if err != nil && groups != nil {
			t.Errorf("%d groups and error %v", len(groups), err)
		}
		for _, g := range groups {
			if n := len(g.Members); n < 1 || n > 16 {
				t.Errorf("%s has %d members", g.Name, n)
			}
		}
	})
}

// tooLong keeps a fuzz run from drawing millions of groups, which is allowed.
func tooLong(s Spec) bool {
	switch shape := s.shape.(type) {
	case random:
		return shape.count > 1000
	case grid:
		return shape.procs > 1000
	case hierarchy:
		return shape.procs > 1000
	default:
		return false
	}
}

package pattern

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"heddle/fabric"
	"heddle/ib"
)

// oddFabric has what files of groups can stumble on: two nodes of one name,
// names with blanks, quotes and #, two ports, no cable, a name that is the id
// of another, and an adapter without a switch.
func oddFabric(t testing.TB) *fabric.Fabric {
	b := &fabric.Builder{}
	node := func(id, name string, kind fabric.Kind, guid ib.GUID, ports uint16) fabric.NodeID {
		n := b.AddNode(fabric.Node{GUID: guid, ID: id, Name: name, Kind: kind, NumPorts: ports}, fabric.Place{})
		for p := range ports {
			b.SetPort(fabric.End{Node: n, Port: p + 1}, fabric.PortInfo{GUID: guid + 1 + ib.GUID(p)}, fabric.Place{})
		}
		return n
	}
	s := node("S1", "leaf one", fabric.Switch, 0x100, 16)
	hosts := []fabric.NodeID{
		node("H1", "twin", fabric.Adapter, 0x10, 1),
		node("H2", "twin", fabric.Adapter, 0x20, 1),
		node("H3", "gpu 3  ", fabric.Adapter, 0x30, 1),
		node("H4", `a "b" #4`, fabric.Adapter, 0x40, 1),
		node("H5", "H4", fabric.Adapter, 0x50, 2),
		node("H6", "rack:7", fabric.Adapter, 0x60, 2),
	}
	for i, h := range hosts {
		b.Cable(fabric.End{Node: h, Port: 1}, fabric.End{Node: s, Port: uint16(i + 1)}, ib.LinkRate{}, fabric.Place{})
	}
	b.Cable(fabric.End{Node: hosts[5], Port: 2}, fabric.End{Node: s, Port: 10}, ib.LinkRate{}, fabric.Place{})
	node("H7", "bare", fabric.Adapter, 0x70, 1)
	f, faults := b.Build()
	if len(fabric.Errors(faults)) > 0 {
		t.Fatal(faults)
	}
	return f
}

// byID lists the members of groups as ID:PORT.
func byID(f *fabric.Fabric, groups []fabric.Group) []string {
	var lines []string
	for _, g := range groups {
		var line strings.Builder
		line.WriteString(g.Name + ":")
		for _, e := range g.Members {
			line.WriteString(fmt.Sprintf(" %s:%d", f.Node(e.Node).ID, e.Port))
		}
		lines = append(lines, line.String())
	}
	return lines
}

func TestReadGroups(t *testing.T) {
	f := oddFabric(t)
	for _, test := range []struct{ name, text, want string }{
		{"ids", "H1 H2", ": H1:1 H2:1"},
		{"commas and blanks", "H1,H2 ,\tS1", ": H1:1 H2:1 S1:0"},
		{"an id wins over a name", "H4 H5", ": H4:1 H5:1"},
		{"quoted name", `"leaf one" H1`, ": S1:0 H1:1"},
		{"blanks at the end of a name", `"gpu 3" "gpu 3  "`, ": H3:1"},
		{"escapes", `"a \"b\" #4"`, ": H4:1"},
		{"node GUIDs", "0x10 0x0000000000000020 0000:0000:0000:0030", ": H1:1 H2:1 H3:1"},
		{"port GUID", "0x62", ": H6:2"},
		{"port GUID and port", "0x62:1", ": H6:1"},
		{"ports", `H6:2 H6:1 "rack:7":2 rack:7:1 S1:0 "leaf one":0`, ": H6:2 H6:1 S1:0"},
		{"a name with a colon", "rack:7", ": H6:1"},
		{"repeated", "H1 H1 0x11 H1:1", ": H1:1"},
		{"label", "all: H1 H2", "all: H1:1 H2:1"},
		{"quoted label", `"all of them": H1`, "all of them: H1:1"},
		{"name=", "name=all H1", "all: H1:1"},
		{`name="..."`, `name="all \\ of # them",H1`, `all \ of # them: H1:1`},
		{"comments", "# first\nH1 # H2\n\n  \t\n#\nH2#H1", ": H1:1\n: H2:1"},
		{"byte order mark and CRLF", "\ufeffH1 H2\r\nH2\r\n", ": H1:1 H2:1\n: H2:1"},
		{"no last line end", "H1\nH2", ": H1:1\n: H2:1"},
		{"empty", "", ""},
		{"only a comment", "# nothing", ""},
	} {
		groups, err := ReadGroups(iotest.OneByteReader(strings.NewReader(test.text)), "groups.txt", f)
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		if diff := cmp.Diff(test.want, strings.Join(byID(f, groups), "\n")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}

func TestReadGroupsFaults(t *testing.T) {
	f := oddFabric(t)
	for _, test := range []struct {
		text string
		want []string
	}{
		{"twin H1", []string{`g:1: error: "twin" is the name of 2 nodes, say which: 0x0000000000000010, 0x0000000000000020`}},
		{"\nH9\nH1 H8 H7", []string{
			`g:2: error: "H9": the fabric has no such node`,
			`g:3: error: "H8": the fabric has no such node`,
			"g:3: error: bare (0x0000000000000070) port 1 has no cable to a live switch",
		}},
		{`H1 "twin`, []string{"g:1: error: a closing quote is missing"}},
		{`"H1"x`, []string{`g:1: error: "x" stands after a closing quote: want a blank or :PORT`}},
		{`H1 "H1":`, []string{`g:1: error: ":" stands after a closing quote: want a blank or :PORT`}},
		{"H1:0", []string{"g:1: error: twin (0x0000000000000010) port 0 has no cable to a live switch"}},
		{"H1:2", []string{`g:1: error: twin (0x0000000000000010) has ports 0 to 1, not "2"`}},
		{`"H1":x`, []string{`g:1: error: twin (0x0000000000000010) has ports 0 to 1, not "x"`}},
		{"H5:2", []string{"g:1: error: H4 (0x0000000000000050) port 2 has no cable to a live switch"}},
		{"S1:3", []string{"g:1: error: leaf one (0x0000000000000100) port 3: of a switch only port 0 can be a member"}},
		{"0x0 0x999", []string{`g:1: error: "0x0": the fabric has no such node`, `g:1: error: "0x999": the fabric has no such node`}},
		{`""`, []string{`g:1: error: "": the fabric has no such node`}},
		{"all:", []string{`g:1: error: group "all" has no member`}},
		{"name=all # H1", []string{`g:1: error: group "all" has no member`}},
		{"name= H1", []string{`g:1: error: "name=": the fabric has no such node`}},
		{"all: H1:x", []string{`g:1: error: "H1:x": the fabric has no such node`}},
	} {
		groups, err := ReadGroups(strings.NewReader(test.text), "g", f)
		var bad *FileError
		if !errors.As(err, &bad) || groups != nil {
			t.Errorf("%q: %d groups, error %v", test.text, len(groups), err)
			continue
		}
		if diff := cmp.Diff(strings.Join(test.want, "\n"), err.Error()); diff != "" {
			t.Errorf("%q (-want +got):\n%s", test.text, diff)
		}
	}
}

func TestManyFaults(t *testing.T) {
	_, err := ReadGroups(strings.NewReader(strings.Repeat("x\n", 5000)), "g", oddFabric(t))
	var bad *FileError
	if !errors.As(err, &bad) || len(bad.Faults) != maxFaults || bad.More != 4000 {
		t.Fatalf("error %v", err)
	}
	if lines := strings.Split(err.Error(), "\n"); len(lines) != 11 || lines[10] != "and 4990 more faults" {
		t.Errorf("%d lines: %s", len(lines), lines[len(lines)-1])
	}
}

func TestManyTwins(t *testing.T) {
	b := &fabric.Builder{}
	b.AddNode(fabric.Node{GUID: 1, Kind: fabric.Switch, NumPorts: 20}, fabric.Place{})
	for i := range 10 {
		h := b.AddNode(fabric.Node{GUID: ib.GUID(16 * (i + 1)), Name: "n", Kind: fabric.Adapter, NumPorts: 1}, fabric.Place{})
		b.Cable(fabric.End{Node: h, Port: 1}, fabric.End{Node: 0, Port: uint16(i + 1)}, ib.LinkRate{}, fabric.Place{})
	}
	f, _ := b.Build()
	_, err := ReadGroups(strings.NewReader("n"), "g", f)
	if err == nil || !strings.Contains(err.Error(), "10 nodes") || !strings.HasSuffix(err.Error(), "0x0000000000000080, and 2 more") {
		t.Errorf("error %v", err)
	}
}

func TestDeadMembers(t *testing.T) {
	f := oddFabric(t).Without([]fabric.NodeID{0, 1}, nil)
	_, err := ReadGroups(strings.NewReader("S1\nH1\nH2"), "g", f)
	want := strings.Join([]string{
		"g:1: error: leaf one (0x0000000000000100) is down",
		"g:2: error: twin (0x0000000000000010) is down",
		"g:3: error: twin (0x0000000000000020) port 1 has no cable to a live switch",
	}, "\n")
	if err == nil || err.Error() != want {
		t.Errorf("error %v, want\n%s", err, want)
	}
}

func TestReadError(t *testing.T) {
	broken := errors.New("broken disk")
	in := io.MultiReader(strings.NewReader("H1\nH2"), iotest.ErrReader(broken))
	if groups, err := ReadGroups(in, "g", oddFabric(t)); !errors.Is(err, broken) || groups != nil {
		t.Errorf("%v, error %v", groups, err)
	}
}

func TestReadPlacement(t *testing.T) {
	f := oddFabric(t)
	ends, err := ReadPlacement(strings.NewReader("H2\n# a comment\n\"gpu 3\"\n0x62\nH2\n"), "p", f)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]fabric.End{{Node: 2, Port: 1}, {Node: 3, Port: 1}, {Node: 6, Port: 2}, {Node: 2, Port: 1}}, ends); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	_, err = ReadPlacement(strings.NewReader("H2 H1\ntwin\nS1"), "p", f)
	want := strings.Join([]string{
		"p:1: error: 2 end ports on one line: want one",
		`p:2: error: "twin" is the name of 2 nodes, say which: 0x0000000000000010, 0x0000000000000020`,
		"p:3: error: leaf one (0x0000000000000100) is a switch: no process runs on it",
	}, "\n")
	if err == nil || err.Error() != want {
		t.Errorf("error %v, want\n%s", err, want)
	}
}

func TestFilePattern(t *testing.T) {
	f := oddFabric(t)
	path := writeFile(t, "one: H1 H2\ntwo: H3 S1\n")
	groups, err := Generate(f, `file:"`+path+`"`)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"one: H1:1 H2:1", "two: H3:1 S1:0"}, byID(f, groups)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestWriteGroupsRefusesEmpty(t *testing.T) {
	err := WriteGroups(io.Discard, []fabric.Group{{Name: "none"}}, oddFabric(t))
	if err == nil || !strings.Contains(err.Error(), `group "none" has no member`) {
		t.Errorf("error %v", err)
	}
}

func FuzzReadGroups(f *testing.F) {
	for _, text := range []string{
		"H1 H2\nall: H3,S1 # x\n", `name="a b" "leaf one":0 0x62:1`, "\ufeffrack:7:2\r\n", `"a \"b\" #4"`, "twin", `"`, "name=", "H1:99999", ":", "S1:",
	} {
		f.Add(text)
	}
	odd := oddFabric(f)
	f.Fuzz(func(t *testing.T, text string) {
		groups, err := ReadGroups(strings.NewReader(text), "g", odd)
		if err != nil {
			if groups != nil {
				t.Errorf("%d groups and error %v", len(groups), err)
			}
			return
		}
		var b strings.Builder
		if err := WriteGroups(&b, groups, odd); err != nil {
			t.Fatal(err)
		}
		again, err := ReadGroups(strings.NewReader(b.String()), "g", odd)
		if err != nil {
			t.Fatalf("%q does not read back: %v", b.String(), err)
		}
		if diff := cmp.Diff(groups, again); diff != "" {
			t.Errorf("read back from %q:\n%s", b.String(), diff)
		}
	})
}

func FuzzReadPlacement(f *testing.F) {
	for _, text := range []string{"H1\nH2\n", "H1 H2", "S1", `"gpu 3"`, "# x\r\n0x62"} {
		f.Add(text)
	}
	odd := oddFabric(f)
	f.Fuzz(func(t *testing.T, text string) {
		ends, err := ReadPlacement(strings.NewReader(text), "p", odd)
		if err != nil && ends != nil {
			t.Errorf("%d ends and error %v", len(ends), err)
		}
		for _, e := range ends {
			if leaf, ok := odd.Leaf(e); !ok || leaf.Node != 0 {
				t.Errorf("%s has no leaf", odd.EndLabel(e))
			}
		}
	})
}

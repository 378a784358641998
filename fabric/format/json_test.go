package format_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"heddle/fabric"
	"heddle/ib"
)

const jsonPair = `{
"format": "heddle fabric", "version": 1,
"nodes": [
{"id": "s", "kind": "switch", "guid": "0x1", "name": "leaf", "ports": 4, "multicastCap": 0,
 "portInfo": [{"port": 0, "guid": "0x1", "lid": 3, "lmc": 0}]},
{"id": "h", "kind": "adapter", "guid": "2", "ports": 1}
],
"links": [
{"a": "s", "aPort": 2, "b": "h", "bPort": 1, "rate": "4xHDR"}
]
}
`

func TestJSONPair(t *testing.T) {
	f, faults := read(t, jsonPair, "")
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	want := view{
		Nodes: []fabric.Node{
			{GUID: 1, ID: "s", Name: "leaf", Kind: fabric.Switch, NumPorts: 4},
			{GUID: 2, ID: "h", Kind: fabric.Adapter, NumPorts: 1},
		},
		Ports: map[string]fabric.PortInfo{"s:0": {GUID: 1, LID: 3}},
		Links: []wire{{"h:1", "s:2", ib.LinkRate{Width: ib.Width4x, Speed: ib.HDR}}},
	}
	if diff := cmp.Diff(want, viewOf(f)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestJSONOrder reads members in any order, as other tools may sort them.
func TestJSONOrder(t *testing.T) {
	nodes, links := strings.Index(jsonPair, `"nodes"`), strings.Index(jsonPair, `"links"`)
	end := strings.LastIndex(jsonPair, "\n}")
	text := "\xef\xbb\xbf  {" + jsonPair[links:end] + ",\n" + jsonPair[nodes:links] + `"version": 1, "format": "heddle fabric"}`
	f, faults := read(t, text, "")
	want, _ := read(t, jsonPair, "")
	if len(faults) > 0 {
		t.Error(faults)
	}
	if diff := cmp.Diff(viewOf(want), viewOf(f)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestJSONFaults(t *testing.T) {
	replaced := func(old, text string) string {
		if !strings.Contains(jsonPair, old) {
			t.Fatalf("no %q", old)
		}
		return strings.Replace(jsonPair, old, text, 1)
	}
	const unlinked = "4 no-link"
	tests := []struct {
		name, text string
		faults     []string
		says       string
	}{
		{"an unknown member", replaced(`"version"`, `"edition"`), []string{"2 syntax !", "0 no-switch !"}, "edition"},
		{"another format", replaced("heddle fabric", "other"), []string{"2 syntax !", "0 no-switch !"}, "heddle fabric"},
		{"a later version", replaced(`"version": 1`, `"version": 2`), []string{"2 syntax !", "0 no-switch !"}, "want 1"},
		{"no format", replaced(`"format": "heddle fabric", `, ``), []string{"11 syntax !"}, `no "format"`},
		{"an unknown member of a node", replaced(`"kind": "adapter"`, `"kind": "adapter", "x": 1`), []string{"6 syntax !", "9 unknown-peer", unlinked}, "x"},
		{"a string for a number", replaced(`"lmc": 0`, `"lmc": "0"`), []string{"5 syntax !", "9 unknown-peer", "0 no-switch !", "6 no-link"}, "lmc"},
		{"a number that is too large", replaced(`"ports": 1`, `"ports": 65536`), []string{"6 syntax !", "9 unknown-peer", unlinked}, "65536"},
		{"a GUID that is none", replaced(`"guid": "2"`, `"guid": "zz"`), []string{"6 syntax !", "9 unknown-peer", unlinked}, "zz"},
		{"no GUID", replaced(`"guid": "2", `, ``), []string{"6 guid"}, "no GUID"},
		{"a kind that is none", replaced(`"adapter"`, `"host"`), []string{"6 syntax !", "9 unknown-peer", unlinked}, "want switch, adapter or router"},
		{"no ID", replaced(`"id": "h", `, ``), []string{"6 syntax !", "9 unknown-peer", unlinked}, "without an id"},
		{"hex that is none", replaced(`"guid": "2"`, `"guid": "2", "nameHex": "0"`), []string{"6 syntax !", "9 unknown-peer", unlinked}, "nameHex"},
		{"a LID beyond", replaced(`"lid": 3`, `"lid": 61111`), []string{"4 lid"}, "61111"},
		{"an LMC beyond", replaced(`"lmc": 0`, `"lmc": 8`), []string{"4 lid"}, "LMC 8"},
		{"a port beyond", replaced(`"port": 0`, `"port": 5`), []string{"4/4 port-range"}, "not 5"},
		{"a rate that is none", replaced(`4xHDR`, `5xHDR`), []string{"9 syntax !", unlinked, "6 no-link"}, "5x"},
		{"not JSON", replaced(`"id": "h",`, `"id": h,`), []string{"6 syntax !", unlinked}, "invalid character 'h'"},
		{"a comma too many", replaced("}\n],\n\"links", "},\n],\n\"links"), []string{"7 syntax !", unlinked, "6 no-link"}, "invalid"},
		{"a comma too few", replaced("]},\n{", "]}\n{"), []string{"6 syntax !", unlinked}, "comma"},
		{"nodes that are no list", replaced(`"nodes": [`, `"nodes": {`), []string{"3 syntax !", "0 no-switch !"}, "want ["},
		{"no object", "[" + jsonPair + "]", []string{"1 syntax !", "0 no-switch !"}, "want {"},
		{"more behind the end", jsonPair + "\n\nx", []string{"14 syntax !"}, "more behind"},
		{"cut", jsonPair[:strings.Index(jsonPair, `"h", "kind"`)], []string{"6 truncated !", unlinked}, "ends within"},
		{"cut after a line", jsonPair[:strings.Index(jsonPair, `{"id": "h"`)], []string{"5 truncated !", unlinked}, "ends within"},
		{"nesting", strings.Replace(jsonPair, `"h", "kind"`, strings.Repeat("[", 20000), 1), []string{"6 syntax !", unlinked}, "depth"},
		{"a node twice", replaced(`"id": "h"`, `"id": "s"`), []string{"6/4 duplicate-node", "9 unknown-peer", unlinked}, "twice"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, faults := read(t, test.text, "json")
			got := said(faults)
			if diff := cmp.Diff(test.faults, got); diff != "" {
				t.Errorf("faults (-want +got):\n%s%v", diff, faults)
			}
			if text := fmt.Sprint(faults); !strings.Contains(text, test.says) {
				t.Errorf("%q is not said: %s", test.says, text)
			}
		})
	}
}

// TestJSONLines names the line of a fault in an element of several lines.
func TestJSONLines(t *testing.T) {
	text := strings.NewReplacer(", ", ",\n", "{", "\n{\n", ": ", " : ").Replace(jsonPair)
	for _, old := range []string{`"ports" : 1`, `"lid" : 3`, `"bPort" : 1`} {
		bad := strings.Replace(text, old, strings.Replace(old, " : ", " : x", 1), 1)
		want := 1 + strings.Count(bad[:strings.Index(bad, ": x")], "\n")
		_, faults := read(t, bad, "")
		if len(faults) == 0 || faults[0].At.Line != want {
			t.Errorf("%s is broken on line %d, faults %v", old, want, faults)
		}
		typed := strings.Replace(text, old, strings.Replace(old, " : ", " : \"\" , \"port\" : ", 1), 1)
		want = 1 + strings.Count(typed[:strings.Index(typed, `: ""`)], "\n")
		if _, faults = read(t, typed, ""); len(faults) == 0 || faults[0].At.Line != want {
			t.Errorf("%s is of another type on line %d, faults %v", old, want, faults)
		}
	}
}

package mad

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"heddle/internal/testenv"
)

// Debian's infiniband-diags print an attribute field by field. Each attribute
// has, in its own test file, a method diags that gives the lines in which these
// programs show its value. Two tests compare: of datagrams that were recorded
// with what the programs said of them (testdata/diags, which README.md there
// explains), and of our own bytes, which the programs read live.
type diagsAttribute interface {
	Attribute
	diags() []string
}

// field is a line of smpquery or perfquery.
func field(name string, value any) string {
	text := fmt.Sprint(value)
	return name + ":" + strings.Repeat(".", max(0, 32-len(name))) + text
}

// fieldLine tells a field from a heading and from a row of a table.
var fieldLine = regexp.MustCompile(`^(Is)?\w+(:\.+.*)?$`)

// oneOrZero is how the programs show a bit.
func oneOrZero(on bool) int {
	if on {
		return 1
	}
	return 0
}

// unreliable are fields that libumad2sim.so cuts from what it hands on: all
// behind byte 224 of a datagram.
var unreliable = []string{"VL15Dropped:", "PortXmitWait:", "QP1Dropped:"}

// lines of a program's output, without indentation.
func lines(out string) []string {
	var list []string
	for line := range strings.Lines(out) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			list = append(list, line)
		}
	}
	return list
}

// checkDiags compares what a program said with what it should have said of v:
// whatever field it shows must be ours. It returns what it did not show.
func checkDiags(t *testing.T, v diagsAttribute, out string) (unseen []string) {
	t.Helper()
	want := lines(strings.Join(v.diags(), "\n"))
	got := lines(out)
	_, long := v.(PortCountersExtended)
	for _, line := range got {
		if long && slices.ContainsFunc(unreliable, func(name string) bool { return strings.HasPrefix(line, name) }) {
			continue
		}
		if fieldLine.MatchString(line) && !slices.Contains(want, line) {
			t.Errorf("the program says %q of our %T", line, v)
		}
	}
	for _, line := range want {
		if !slices.Contains(got, line) {
			unseen = append(unseen, line)
		}
	}
	if len(unseen) == len(want) {
		t.Errorf("the program shows nothing of\n%s\nbut\n%s", strings.Join(want, "\n"), out)
	}
	return unseen
}

// TestRecordedDiags: datagrams of ibsim's and OpenSM's, with what infiniband-diags
// read in them. testdata/diags/README.md tells how they were recorded.
func TestRecordedDiags(t *testing.T) {
	files, err := filepath.Glob("testdata/diags/*.txt")
	if err != nil || len(files) < 19 {
		t.Fatalf("%d recordings, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			d, out := recording(t, file)
			v := parseAs[diagsAttribute](t, d)
			checkDiags(t, v, out)
			if again := v.AppendTo(nil); !bytes.Equal(again, d.Data()[:v.Len()]) {
				t.Errorf("encoded %x\nwant    %x", again, d.Data()[:v.Len()])
			}
		})
	}
}

// recording reads a file of testdata/diags: a comment, 16 lines of the
// datagram, and the output of the program.
func recording(t *testing.T, file string) (*Datagram, string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "\n")
	dump, out, _ := strings.Cut(rest, "\n\n")
	b, err := hex.DecodeString(strings.NewReplacer(" ", "", "\n", "").Replace(dump))
	if err != nil || len(b) != Size {
		t.Fatalf("%d bytes, %v", len(b), err)
	}
	return (*Datagram)(b), out
}

// parseAs reads the attribute of a datagram.
func parseAs[A any](t *testing.T, d *Datagram) A {
	t.Helper()
	v, err := ParseAttribute(d.Class(), d.Attr(), d.Data())
	if err != nil {
		t.Fatal(err)
	}
	a, ok := v.(A)
	if !ok {
		t.Fatalf("%v is a %T", d.Attr(), v)
	}
	return a
}

// TestDiagsReadUs: infiniband-diags read in our bytes what we wrote.
func TestDiagsReadUs(t *testing.T) {
	queries := map[string][]string{
		"NodeDescription":          {"smpquery", "nodedesc", "1"},
		"NodeInfo":                 {"smpquery", "nodeinfo", "1"},
		"SwitchInfo":               {"smpquery", "switchinfo", "1"},
		"GUIDInfo":                 {"smpquery", "guidinfo", "1"},
		"PortInfo":                 {"smpquery", "-K", "portinfo", "1", "1"},
		"P_KeyTable":               {"smpquery", "pkeys", "1", "1"},
		"SLtoVLMappingTable":       {"smpquery", "sl2vl", "1", "1"},
		"VLArbitrationTable":       {"smpquery", "vlarb", "1", "1"},
		"LinearForwardingTable":    {"ibroute", "-n", "-a", "1"},
		"MulticastForwardingTable": {"ibroute", "-M", "-n", "1"},
		"SMInfo":                   {"sminfo", "1"},
		"PortInfoExtended":         {"smpquery", "portinfoextended", "1", "1"},
		"MlnxExtPortInfo":          {"smpquery", "mlnxextportinfo", "1", "1"},
		"ClassPortInfo":            {"saquery", "-c"},
		"PortCounters":             {"perfquery", "1", "1"},
		"PortCountersExtended":     {"perfquery", "-x", "1", "1"},
	}
	all := samples()
	s := newStandIn(t, append(all, sample{ClassSA, AttrClassPortInfo, sampleClassPortInfo}))
	for _, sample := range all {
		t.Run(sample.name(), func(t *testing.T) {
			query, ok := queries[sample.name()]
			if !ok {
				t.Fatal("no program reads it")
			}
			out := testenv.Diag(t, s.name, "", query[0], query[1:]...)
			for _, line := range checkDiags(t, sample.value.(diagsAttribute), out) {
				t.Errorf("not shown: %q", line)
			}
		})
	}
}

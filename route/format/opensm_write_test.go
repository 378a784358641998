package format_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"heddle/route"
	"heddle/route/format"
)

func TestWriteOpenSMLFTs(t *testing.T) {
	for _, name := range []string{"two", "lmc"} {
		n := dumped(t, name)
		var b strings.Builder
		if err := format.WriteOpenSMLFTs(&b, readLFTs(t, n, name+".opensm-lfts.dump")); err != nil {
			t.Fatal(err)
		}
		want := bySwitch(string(testdata(t, name+".opensm-lfts.dump")))
		if diff := cmp.Diff(want, bySwitch(b.String())); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// bySwitch splits tables by switch: OpenSM's order is another.
func bySwitch(text string) []string {
	return slices.Sorted(slices.Values(strings.SplitAfter(text, "lids dumped\n")))
}

func TestWriteMCFDBs(t *testing.T) {
	n := dumped(t, "two")
	tables, err := format.ReadMFTs(bytes.NewReader(testdata(t, "two.dump_mfts")), n.g)
	if err != nil {
		t.Fatal(err)
	}
	var e route.MFTEntry
	e.MLID = 0xC01F
	e.Ports.Add(0)
	e.Ports.Add(36)
	tables.Tables[1] = route.MFT{e}
	var b strings.Builder
	if err := format.WriteMCFDBs(&b, tables); err != nil {
		t.Fatal(err)
	}
	const want = `
Switch 0x0000000000200001
LID    : Out Port(s)
0xC000 : 0x001  0x003 
0xC025 : 0x000  0x001  0x002 

Switch 0x0000000000200000
LID    : Out Port(s)
0xC01F : 0x000  0x024 
`
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	tables.Tables[1] = nil
	b.Reset()
	if err := format.WriteMCFDBs(&b, tables); err != nil || strings.Count(b.String(), "Switch") != 1 {
		t.Errorf("%q, %v: want one switch", b.String(), err)
	}
}

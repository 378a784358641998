package mad

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"heddle/internal/testenv"
)

// saqueryRecord is a record that Debian's saquery prints: its test file has a
// method that gives the lines in which it does, as saqueryLines has them.
type saqueryRecord interface {
	Record
	saquery() []string
}

// saqueryLines are the lines of output with each row of dots as one space.
func saqueryLines(out string) []string {
	var list []string
	for _, line := range lines(out) {
		if name, value, ok := strings.Cut(line, ".."); ok {
			line = name + " " + strings.TrimLeft(value, ".")
		}
		list = append(list, strings.Replace(line, ":.", ": ", 1))
	}
	return list
}

// TestSaqueryReadsUs: saquery reads in our bytes what we wrote, field by field.
func TestSaqueryReadsUs(t *testing.T) {
	all := append(sampleSA(), sample{ClassSA, AttrClassPortInfo, sampleSAClassPortInfo})
	s := newStandIn(t, all)
	for query, record := range saqueries() {
		t.Run(query, func(t *testing.T) {
			want := saqueryLines(strings.Join(record.saquery(), "\n"))
			got := saqueryLines(testenv.Diag(t, s.name, "", "saquery", "-K", query))
			got = got[:min(len(got), len(want))] // the rest of the datagram, taken for records
			if query == "PIR" {                  // smpquery's order is another
				slices.Sort(want)
				slices.Sort(got)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("we wrote (-), saquery reads (+):\n%s", diff)
			}
		})
	}
}

// saqueries are the records that saquery prints, by how it calls them.
func saqueries() map[string]saqueryRecord {
	names := map[AttrID]string{
		AttrNodeRecord: "NR", AttrPortInfoRecord: "PIR", AttrSLtoVLRecord: "SL2VL", AttrPKeyRecord: "PKTR",
		AttrVLArbitrationRecord: "VLAR", AttrInformInfoRecord: "IIR", AttrLinkRecord: "LR", AttrServiceRecord: "SR",
		AttrPathRecord: "PR", AttrMCMemberRecord: "MCMR", AttrLFTRecord: "LFTR", AttrMFTRecord: "MFTR",
		AttrGUIDInfoRecord: "GIR", AttrSwitchInfoRecord: "SWIR", AttrSMInfoRecord: "SMIR",
	}
	queries := map[string]saqueryRecord{}
	for _, r := range sampleRecords() {
		if query, ok := names[r.AttrID()]; ok {
			queries[query] = r.(saqueryRecord)
		}
	}
	return queries
}

// hexLine is a line of saquery's output with a hexadecimal value.
func hexLine[T ~uint8 | ~uint16 | ~uint32 | ~uint64](name string, v T) string {
	return fmt.Sprintf("%s 0x%X", name, uint64(v))
}

// line is one with the value as it is.
func line(name string, v any) string { return fmt.Sprint(name, " ", v) }

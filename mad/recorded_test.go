package mad

import (
	"bytes"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// recordedSA are datagrams that were recorded from others' programs.
type recordedSA struct {
	title string // says by which
	Datagram
	n int // bytes, the rest is zeros
}

// recorded reads a file of testdata/sa, which README.md there explains.
func recorded(t *testing.T, file string) []recordedSA {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "sa", file))
	if err != nil {
		t.Fatal(err)
	}
	var list []recordedSA
	for part := range strings.SplitSeq(string(text), "\n\n") {
		var r recordedSA
		var digits strings.Builder
		for line := range strings.Lines(part) {
			title, isTitle := strings.CutPrefix(line, "# ")
			switch {
			case !isTitle:
				digits.WriteString(strings.TrimSpace(line))
			case r.title == "":
				r.title = strings.TrimSpace(title)
			}
		}
		if r.n, err = hex.Decode(r.Datagram[:], []byte(digits.String())); err != nil {
			t.Fatal(err)
		}
		list = append(list, r)
	}
	return list
}

// checkRequest compares a recorded request with the mask and the record that
// it should have.
func checkRequest[R Record](t *testing.T, d recordedSA, parse func([]byte) (R, error), mask ComponentMask, want R) {
	t.Helper()
	if d.Attr() != want.AttrID() || d.ComponentMask() != mask {
		t.Errorf("%s: asks for %v with mask %v, want %v and %v", d.title, d.Attr(), d.ComponentMask(), want.AttrID(), mask)
	}
	got, err := parse(d.Data())
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%s: %v, want (-), got (+):\n%s", d.title, err, diff)
	}
	if b := want.AppendTo(nil); !bytes.Equal(b, d.Data()[:len(b)]) {
		t.Errorf("%s: asks with\n%x, we with\n%x", d.title, d.Data()[:len(b)], b)
	}
}

// checkAnswer compares the table of a recorded answer with the records that it
// should have, byte for byte.
func checkAnswer[R Record](t *testing.T, d recordedSA, parse func([]byte) (R, error), want ...R) {
	t.Helper()
	var got []R
	var ours []byte
	data := make([]byte, len(want)*8*int(d.AttributeOffset()))
	copy(data, d.Data())
	for r, err := range Table(data, d.AttributeOffset(), parse) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, r)
		ours = AppendRecord(ours, r)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s: want (-), got (+):\n%s", d.title, diff)
	}
	if !bytes.Equal(ours, data) {
		t.Errorf("%s: table is\n%x, ours\n%x", d.title, data, ours)
	}
}

// checkChosen tells whether a filter made of a recorded request chooses the
// records of a recorded answer, and no other.
func checkChosen[R Record](t *testing.T, request recordedSA, answer []R, other R) {
	t.Helper()
	f, err := NewFilter(request.Attr(), request.ComponentMask(), request.Data())
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range answer {
		if !f.Match(r.AppendTo(nil)) {
			t.Errorf("%s: %+v is not chosen", request.title, r)
		}
	}
	if f.Match(other.AppendTo(nil)) {
		t.Errorf("%s: %+v is chosen", request.title, other)
	}
}

// checkRecorded checks a file with what saquery asked, and what OpenSM
// answered; other is a record that was not asked for.
func checkRecorded[R Record](t *testing.T, file string, parse func([]byte) (R, error), mask ComponentMask, request R, other R, answer ...R) {
	t.Helper()
	list := recorded(t, file)
	checkRequest(t, list[0], parse, mask, request)
	checkAnswer(t, list[1], parse, answer...)
	checkChosen(t, list[0], answer, other)
}

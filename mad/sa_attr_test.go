package mad

import (
	"bytes"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestSARoundTrip(t *testing.T) {
	for _, s := range sampleSA() {
		b := s.bytes()
		if len(b) != s.value.Len() {
			t.Errorf("%s: %d bytes, Len %d", s.name(), len(b), s.value.Len())
		}
		got, err := ParseAttribute(ClassSA, s.attr, b)
		if diff := cmp.Diff(s.value, got); diff != "" || err != nil {
			t.Errorf("%s: %v\n%s", s.name(), err, diff)
		}
		if withPrefix := s.value.AppendTo([]byte("x")); withPrefix[0] != 'x' || !bytes.Equal(withPrefix[1:], b) {
			t.Errorf("%s: appended to a byte is %x, alone %x", s.name(), withPrefix, b)
		}
	}
}

// TestSAPrefixes: no proper prefix is an attribute; a notice ends where an SMP
// does, or with the issuer's GID.
func TestSAPrefixes(t *testing.T) {
	for _, s := range sampleSA() {
		b := s.bytes()
		if s.attr == AttrNotice {
			b = b[:noticeSMPLen]
		}
		for n := range b {
			if v, err := parseSA(s.attr, b[:n]); v != nil || !errors.Is(err, ErrShort) {
				t.Errorf("%s: %d of %d bytes give %v, %v", s.name(), n, len(b), v, err)
			}
		}
	}
}

// TestSAAnyBytes: of any bytes, what is parsed is encoded and parsed again as
// the same.
func TestSAAnyBytes(t *testing.T) {
	all := sampleSA()
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.SampledFrom(all).Draw(t, "attribute")
		checkReread(t, ClassSA, s.attr, rapid.SliceOfN(rapid.Byte(), 0, 256).Draw(t, "data"))
	})
}

func FuzzParseSA(f *testing.F) {
	for _, s := range sampleSA() {
		f.Add(uint16(s.attr), s.bytes())
	}
	f.Fuzz(func(t *testing.T, attr uint16, data []byte) { checkReread(t, ClassSA, AttrID(attr), data) })
}

func TestUnknownSA(t *testing.T) {
	if v, err := ParseAttribute(ClassSA, AttrServiceAssocRecord, make([]byte, 200)); v != nil || !errors.Is(err, ErrUnknownAttribute) {
		t.Errorf("%v, %v", v, err)
	}
}

// TestSAAllocations: what a server does for each record, and for each request,
// costs no memory.
func TestSAAllocations(t *testing.T) {
	member, path := sampleMCMemberRecord.AppendTo(nil), samplePathRecord.AppendTo(nil)
	memberFilter, err := NewFilter(AttrMCMemberRecord, MCMemberRecordMGID|MCMemberRecordRate|MCMemberRecordRateSelector, member)
	if err != nil {
		t.Fatal(err)
	}
	pathFilter, err := NewFilter(AttrPathRecord, PathRecordDGID|PathRecordSGID, path)
	if err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 0, 256)
	for name, run := range map[string]func(){
		"MCMemberRecord": func() {
			r, _ := ParseMCMemberRecord(member)
			buf = AppendRecord(buf[:0], r)
			memberFilter.Match(buf)
		},
		"PathRecord": func() {
			r, _ := ParsePathRecord(path)
			buf = AppendRecord(buf[:0], r)
			pathFilter.Match(buf)
		},
		"table": func() {
			for _, err := range Table(path, RecordOffset(samplePathRecord), ParsePathRecord) {
				if err != nil {
					t.Fatal(err)
				}
			}
		},
	} {
		if n := testing.AllocsPerRun(100, run); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

package mad

import (
	"errors"
	"testing"

	"pgregory.net/rapid"
)

// collect reads a whole table.
func collect[R any](data []byte, offset uint16, parse func([]byte) (R, error)) (list []R, err error) {
	for r, e := range Table(data, offset, parse) {
		if e != nil {
			return list, e
		}
		list = append(list, r)
	}
	return list, nil
}

func TestTable(t *testing.T) {
	links := []LinkRecord{{1, 2, 3, 4}, {5, 6, 7, 8}, {9, 10, 11, 12}}
	var data []byte
	for _, r := range links {
		data = AppendRecord(data, r)
	}
	offset := RecordOffset(links[0])
	if offset != 1 || len(data) != 24 {
		t.Fatalf("offset %d, %d bytes", offset, len(data))
	}
	for _, c := range []struct {
		name   string
		data   []byte
		offset uint16
		n      int
		err    error
	}{
		{"whole", data, 1, 3, nil},
		{"without the last padding", data[:22], 1, 3, nil},
		{"cut in the last record", data[:21], 1, 2, ErrTable},
		{"cut in the last record, why", data[:21], 1, 2, ErrShort},
		{"one byte", data[:1], 1, 0, ErrTable},
		{"empty", nil, 1, 0, nil},
		{"empty, offset 0", nil, 0, 0, nil},
		{"offset 0", data, 0, 0, ErrTable},
		{"longer records than ours", data, 2, 2, nil},
		{"offset beyond the data", data, 0xFFFF, 1, nil},
	} {
		list, err := collect(c.data, c.offset, ParseLinkRecord)
		if len(list) != c.n || !errors.Is(err, c.err) {
			t.Errorf("%s: %d records, %v", c.name, len(list), err)
		}
	}
	if list, err := collect(make([]byte, 24), 1, ParseNodeRecord); len(list) != 0 || !errors.Is(err, ErrShort) || errors.Is(err, ErrTable) {
		t.Errorf("offset shorter than a record: %d records, %v", len(list), err)
	}
	for r, err := range Table(data, 1, ParseLinkRecord) {
		if r != links[0] || err != nil {
			t.Errorf("got %+v, %v", r, err)
		}
		break
	}
}

// TestTableRoundTrip: what is laid out is read back, of every kind of record.
func TestTableRoundTrip(t *testing.T) {
	for _, r := range sampleRecords() {
		parse := func(b []byte) (Attribute, error) { return parseSA(r.AttrID(), b) }
		var data []byte
		for range 3 {
			data = AppendRecord(data, r)
		}
		list, err := collect(data, RecordOffset(r), parse)
		if len(list) != 3 || err != nil {
			t.Errorf("%T: %d records, %v", r, len(list), err)
		}
		for _, got := range list {
			if got != r {
				t.Errorf("got %+v, want %+v", got, r)
			}
		}
	}
}

// TestTableNeverLoses: whatever the data, a table gives as many records as fit,
// or an error.
func TestTableNeverLoses(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		data := rapid.SliceOfN(rapid.Byte(), 0, 300).Draw(t, "data")
		offset := rapid.Uint16Range(0, 12).Draw(t, "offset")
		list, err := collect(data, offset, ParsePathRecord)
		switch size := 8 * int(offset); {
		case len(data) == 0:
			if len(list) != 0 || err != nil {
				t.Fatalf("%d records of nothing, %v", len(list), err)
			}
		case size < pathRecordLen:
			if err == nil {
				t.Fatal("no error")
			}
		default:
			cut := len(data)%size != 0 && len(data)%size < pathRecordLen
			want := (len(data) + size - pathRecordLen) / size
			if len(list) != want || (err != nil) != cut {
				t.Fatalf("%d records of %d bytes, %v", len(list), len(data), err)
			}
		}
	})
}

func FuzzTable(f *testing.F) {
	f.Add([]byte{0, 1, 2, 3, 0, 4, 0, 0}, uint16(1), uint16(AttrLinkRecord))
	f.Add(AppendRecord(nil, samplePathRecord), uint16(8), uint16(AttrPathRecord))
	f.Add(AppendRecord(nil, sampleMCMemberRecord), uint16(0), uint16(AttrMCMemberRecord))
	f.Fuzz(func(t *testing.T, data []byte, offset, attr uint16) {
		n := 0
		for r, err := range Table(data, offset, func(b []byte) (Attribute, error) { return parseSA(AttrID(attr), b) }) {
			if (r == nil) == (err == nil) {
				t.Fatalf("record %v, error %v", r, err)
			}
			n++
		}
		if n > len(data)+1 {
			t.Fatalf("%d records of %d bytes", n, len(data))
		}
	})
}

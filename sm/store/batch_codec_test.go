package store

import (
	"encoding/hex"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"heddle/sm/group"
)

var encodings = []struct {
	name  string
	batch Batch
	bytes string
}{
	{"empty", Batch{}, "01000000000000"},
	{"position", Batch{At: Position{300, 5}}, "0100ac0205000000"},
	{
		"all",
		Batch{
			At: Position{2, 1}, Entries: []group.Entry{{Seq: 9, Epoch: 1, Kind: group.EntryUnreserved}},
			Changes: []Change{
				{Record: Record{"a", []byte{1, 2}, 3, []byte{4}}},
				{Record: Record{Bucket: "b", Key: []byte{5}}, Delete: true},
			},
		},
		"010002010001" + "010909010000" + "02" + "00" + "0161" + "020102" + "03" + "0104" + "01" + "0162" + "0105",
	},
	{"reset", Batch{At: Position{7, 3}, Reset: true}, "01010703000000"},
}

func TestEncoding(t *testing.T) {
	for _, test := range encodings {
		t.Run(test.name, func(t *testing.T) {
			encoded := test.batch.AppendTo(nil)
			if got := hex.EncodeToString(encoded); got != test.bytes {
				t.Errorf("encoded %s, want %s", got, test.bytes)
			}
			got, err := ParseBatch(encoded)
			if diff := cmp.Diff(&test.batch, got); diff != "" || err != nil {
				t.Errorf("parsed, %v:\n%s", err, diff)
			}
			for n := range encoded {
				if b, err := ParseBatch(encoded[:n]); err == nil || b != nil {
					t.Errorf("the first %d bytes parse: %v, %v", n, b, err)
				}
			}
			if _, err := ParseBatch(append(encoded, 0)); !errors.Is(err, ErrEncoding) {
				t.Errorf("a byte more: %v", err)
			}
		})
	}
}

func FuzzParseBatch(f *testing.F) {
	for _, e := range encodings {
		f.Add(e.batch.AppendTo(nil))
	}
	f.Fuzz(func(t *testing.T, p []byte) {
		b, err := ParseBatch(p)
		if (b == nil) == (err == nil) {
			t.Fatalf("%v and %v", b, err)
		}
		if err != nil {
			return
		}
		again, err := ParseBatch(b.AppendTo(nil))
		if diff := cmp.Diff(b, again); diff != "" || err != nil {
			t.Fatalf("parsed again, %v:\n%s", err, diff)
		}
	})
}

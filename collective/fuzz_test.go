package collective

import (
	"bytes"
	"testing"
)

// FuzzSlot: what parses is the same when it is written again.
func FuzzSlot(f *testing.F) {
	h := header{group: 1, root: 2, flags: firstFlag, seq: 3, total: 5, n: 4}
	f.Add(append(h.appendTo(nil, []byte("news")), "news"...))
	f.Add([]byte{1})
	f.Fuzz(func(t *testing.T, b []byte) {
		var h header
		payload, err := h.parse(b)
		if err != nil {
			if payload != nil {
				t.Fatal("a payload and an error")
			}
			return
		}
		again := h.appendTo(nil, payload)
		if !bytes.Equal(again[:headerSize-4], b[:headerSize-4]) || !whole(append(again, payload...), payload) {
			t.Fatalf("%x, again %x", b, again)
		}
		if whole(b, payload) != bytes.Equal(again, b[:headerSize]) {
			t.Fatal("the checksum fits, and is another one")
		}
	})
}

// FuzzHellos: no words of a rank do harm.
func FuzzHellos(f *testing.F) {
	mine := hello{Version: version, Way: ByRead, Slots: 4, Chunk: 64, Roots: []int{0}, Endpoints: [][]byte{nil, {1}}}
	f.Add(mine.encode())
	f.Add([]byte(`{"Rank":1}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		hellos, err := decodeHellos([][]byte{mine.encode(), b}, &mine, 2)
		if err == nil && (len(hellos) != 2 || hellos[1].Rank != 1 || len(hellos[1].Endpoints) != 2) {
			t.Fatalf("%+v", hellos)
		}
	})
}

// FuzzWords: what is read is no longer than what came.
func FuzzWords(f *testing.F) {
	var b bytes.Buffer
	if err := writeWords(&b, [][]byte{[]byte("a"), nil, []byte("words")}); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Fuzz(func(t *testing.T, b []byte) {
		words, err := readWords(bytes.NewReader(b))
		if err != nil {
			return
		}
		var again bytes.Buffer
		if err := writeWords(&again, words); err != nil || !bytes.HasPrefix(b, again.Bytes()) {
			t.Fatalf("%x, again %x, %v", b, again.Bytes(), err)
		}
	})
}

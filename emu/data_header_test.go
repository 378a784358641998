package emu

import "testing"

// FuzzParseHeader: a header or an error, and no packet that is shorter than
// what was read of it.
func FuzzParseHeader(f *testing.F) {
	f.Add([]byte{0, 2, 0, 2, 0, 6, 0, 1, 0x64, 0, 0xff, 0xff, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0})
	f.Add([]byte{0, 0, 0, 2, 0, 2, 0, 1})
	f.Fuzz(func(t *testing.T, b []byte) {
		h, err := parseHeader(b)
		if err == nil && (int(h.words)*4 > len(b) || h.wire() < len(b)) {
			t.Errorf("%d bytes: %+v", len(b), h)
		}
		if err != nil && h != (header{}) {
			t.Errorf("%+v and %v", h, err)
		}
	})
}

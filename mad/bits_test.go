package mad

import "testing"

func TestBits(t *testing.T) {
	if got := nibbles(uint8(0xAB), uint8(0xCD)); got != 0xBD {
		t.Errorf("nibbles %#x", got)
	}
	if flag(true, 0x40) != 0x40 || flag(false, 0x40) != 0 {
		t.Error("flag")
	}
	b := []byte{0xFF, 0xFF, 0xFF, 0xFF}
	putUint24(b, 0xAA123456)
	if got := uint24(b); got != 0x123456 || b[3] != 0xFF {
		t.Errorf("%#x in % x", got, b)
	}
}

func TestListBits(t *testing.T) {
	names := []string{"a", "", "c"}
	for v, want := range []string{"none", "a", "0x2", "a|0x2", "c", "a|c", "c|0x2", "a|c|0x2", "0x8", "a|0x8"} {
		if got := listBits(uint8(v), names); got != want {
			t.Errorf("%d is %s, want %s", v, got, want)
		}
	}
	if got := listBits(uint32(1<<31), names); got != "0x80000000" {
		t.Errorf("got %s", got)
	}
}

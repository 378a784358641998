package umad

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"heddle/ib"
	"heddle/mad"
)

// goldenFrames were not written by us, but for the last: the first is what
// ibping 44 (rdma-core) wrote to /dev/infiniband/umad0, recorded with strace,
// the second what umad_set_addr and umad_set_grh of libibumad 44 make of these
// values, the others what Linux 6.1 gave to a read of a RoCE port of rdma_rxe.
// All are of a little-endian machine.
var goldenFrames = []struct {
	name  string
	bytes string
	frame frame
}{
	{
		"ibping", "01000000 00000000 e8030000 00000000 00000000 00000001 80010000 00010000" +
			"00000000 00000000000000000000000000000000 00000000 0000 000000000000",
		frame{agent: 1, timeout: 1000, addr: ToLID(1)},
	},
	{
		"libibumad with GRH", "00000000 00000000 00000000 00000000 00000000 00000001 80010000 12340300" +
			"01004009 fe80000000000000000012fffe345678 000abcde 0000 000000000000",
		frame{addr: Address{LID: 0x1234, QPN: 1, QKey: ib.GSIQKey, SL: 3, GRH: &GRH{
			GID: ib.MustParseGID("fe80::12ff:fe34:5678"), HopLimit: 0x40, TrafficClass: 9, FlowLabel: 0xabcde,
		}}},
	},
	{
		"read from Linux", "00000000 00000000 00000000 00000000 40010000 00000001 00000000 00000000" +
			"01004000 fe80000000000000b0fe52fffe99d20a 00000000 0000 000000000000",
		frame{length: 320, addr: Address{QPN: 1, GRH: &GRH{GID: ib.MustParseGID("fe80::b0fe:52ff:fe99:d20a"), HopLimit: 64}}},
	},
	{
		"timed out, read from Linux", "00000000 6e000000 32000000 00000000 00000000 00000001 80010000 00000000" +
			"01000100 fe8000000000000044a499fffe0638d1 00000000 0000 000000000000",
		frame{status: 110, timeout: 50, addr: Address{
			QPN: 1, QKey: ib.GSIQKey, GRH: &GRH{GID: ib.MustParseGID("fe80::44a4:99ff:fe06:38d1"), HopLimit: 1},
		}},
	},
	// This one is ours; the offsets are those of ib_user_mad.h.
	{
		"all", "04030201 6e000000 0d0c0b0a 05000000 40010000 00000020 12345678 00210d03" +
			"01055507 ff120000000000000000000000000009 00000063 0907 000000000000",
		frame{agent: 0x01020304, status: 110, timeout: 0x0a0b0c0d, retries: 5, length: 320, addr: Address{
			LID: 33, QPN: 32, QKey: 0x12345678, SL: 13, PathBits: 3, PKeyIndex: 0x0709,
			GRH: &GRH{GID: ib.MustParseGID("ff12::9"), GIDIndex: 5, HopLimit: 0x55, TrafficClass: 7, FlowLabel: 99},
		}},
	},
}

func golden(t *testing.T, s string) []byte {
	t.Helper()
	if binary.NativeEndian.Uint16([]byte{1, 0}) != 1 {
		t.Skip("the golden bytes are of little-endian machines")
	}
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestFrame(t *testing.T) {
	for _, test := range goldenFrames {
		t.Run(test.name, func(t *testing.T) {
			want := golden(t, test.bytes)
			if diff := cmp.Diff(want, test.frame.appendTo(nil)); diff != "" {
				t.Errorf("appendTo (-want +got):\n%s", diff)
			}
			got, err := parseFrame(want)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.frame, got, cmp.AllowUnexported(frame{})); diff != "" {
				t.Errorf("parseFrame (-want +got):\n%s", diff)
			}
		})
	}
}

func TestFramePrefixes(t *testing.T) {
	b := goldenFrames[0].frame.appendTo(nil)
	for n := range b {
		if f, err := parseFrame(b[:n]); !errors.Is(err, mad.ErrShort) {
			t.Errorf("of %d bytes: %v, %v", n, f, err)
		}
	}
}

func TestFrameRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := rapid.SliceOfN(rapid.Byte(), frameLen, frameLen).Draw(t, "frame")
		f, err := parseFrame(b)
		if err != nil {
			t.Fatal(err)
		}
		again, err := parseFrame(f.appendTo([]byte("before"))[len("before"):])
		if diff := cmp.Diff(f, again, cmp.AllowUnexported(frame{})); err != nil || diff != "" {
			t.Errorf("%v (-first +second):\n%s", err, diff)
		}
	})
}

func FuzzFrame(f *testing.F) {
	for _, test := range goldenFrames {
		f.Add(append(test.frame.appendTo(nil), make([]byte, mad.Size)...))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		head, err := parseFrame(b)
		if (err == nil) != (len(b) >= frameLen) {
			t.Fatalf("of %d bytes: %v", len(b), err)
		}
		if err != nil {
			return
		}
		if again := head.appendTo(nil); !bytes.Equal(again, mustParse(t, again).appendTo(nil)) {
			t.Errorf("%x is not what it is encoded as", again)
		}
	})
}

func mustParse(t *testing.T, b []byte) frame {
	t.Helper()
	f, err := parseFrame(b)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestMilliseconds(t *testing.T) {
	for _, test := range []struct {
		d    time.Duration
		want uint32
	}{
		{-1, 0},
		{0, 0},
		{1, 1},
		{time.Millisecond, 1},
		{time.Millisecond + 1, 2},
		{time.Second, 1000},
		{1<<63 - 1, 1<<31 - 1},
	} {
		if got := milliseconds(test.d); got != test.want {
			t.Errorf("milliseconds(%v) = %d, want %d", test.d, got, test.want)
		}
	}
}

package packet_test

import (
	"encoding/hex"
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"heddle/packet"
)

func unhex(tb testing.TB, s string) []byte {
	tb.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

// bth is a BTH with all its fields set.
func bth(o packet.Opcode) packet.BTH {
	return packet.BTH{
		Opcode: o, Solicited: true, Migrated: true, PKey: 0x8123, FECN: true, BECN: true,
		QPN: 0x012345, AckReq: true, PSN: 0xabcdef,
	}
}

// golden are packets of each layout, with the bytes behind the opcode.
func golden() []struct {
	name    string
	headers packet.Headers
	bytes   string
} {
	const common = "c08123c0012345" + "80abcdef"
	reth := packet.RETH{Addr: 0x0102030405060708, RKey: 0x090a0b0c, Length: 0x0d0e0f10}
	atomic := packet.AtomicETH{Addr: 1 << 60, RKey: 7, Swap: 0x1112131415161718, Compare: 0x2122232425262728}
	deth := packet.DETH{QKey: 0x80010000, From: 0x00fedcba}
	aeth := packet.AETH{Syndrome: packet.NAKAccess, MSN: 0x654321}
	return []struct {
		name    string
		headers packet.Headers
		bytes   string
	}{
		{"SEND", packet.Headers{BTH: bth(packet.SendOnly)}, "04" + common},
		{"SEND with immediate", packet.Headers{BTH: bth(packet.SendOnlyImm), Imm: 0x0a0b0c0d}, "05" + common + "0a0b0c0d"},
		{"SEND with invalidate", packet.Headers{BTH: bth(packet.SendLastInvalidate), RKey: 0x0a0b0c0d}, "16" + common + "0a0b0c0d"},
		{"WRITE", packet.Headers{BTH: bth(packet.WriteFirst), RETH: reth}, "06" + common + "0102030405060708090a0b0c0d0e0f10"},
		{
			"WRITE with immediate",
			packet.Headers{BTH: bth(packet.UC | packet.WriteOnlyImm), RETH: reth, Imm: 5},
			"2b" + common + "0102030405060708090a0b0c0d0e0f10" + "00000005",
		},
		{"READ", packet.Headers{BTH: bth(packet.ReadRequest), RETH: reth}, "0c" + common + "0102030405060708090a0b0c0d0e0f10"},
		{"READ response", packet.Headers{BTH: bth(packet.ReadResponseLast), AETH: aeth}, "0f" + common + "62654321"},
		{"READ response middle", packet.Headers{BTH: bth(packet.ReadResponseMiddle)}, "0e" + common},
		{"acknowledgement", packet.Headers{BTH: bth(packet.Acknowledge), AETH: aeth}, "11" + common + "62654321"},
		{
			"atomic acknowledgement",
			packet.Headers{BTH: bth(packet.AtomicAcknowledge), AETH: aeth, Result: 0x3132333435363738},
			"12" + common + "62654321" + "3132333435363738",
		},
		{
			"compare and swap",
			packet.Headers{BTH: bth(packet.CompareSwap), Atomic: atomic},
			"13" + common + "1000000000000000" + "00000007" + "1112131415161718" + "2122232425262728",
		},
		{
			"datagram",
			packet.Headers{BTH: bth(packet.UD | packet.SendOnlyImm), DETH: deth, Imm: 1},
			"65" + common + "80010000" + "00fedcba" + "00000001",
		},
		{
			"reliable datagram",
			packet.Headers{BTH: bth(packet.RD | packet.FetchAdd), EEC: 0x334455, DETH: deth, Atomic: atomic},
			"54" + common + "00334455" + "80010000" + "00fedcba" + "1000000000000000" + "00000007" + "1112131415161718" + "2122232425262728",
		},
		{
			"reliable datagram's acknowledgement",
			packet.Headers{BTH: bth(packet.RD | packet.Acknowledge), EEC: 1, AETH: aeth},
			"51" + common + "00000001" + "62654321",
		},
		{"congestion notification", packet.Headers{BTH: bth(packet.CNP)}, "81" + common},
	}
}

func TestHeaders(t *testing.T) {
	for _, test := range golden() {
		t.Run(test.name, func(t *testing.T) {
			want := unhex(t, test.bytes)
			if got := test.headers.AppendTo(nil); !slices.Equal(got, want) {
				t.Errorf("encoded as\n%x, want\n%x", got, want)
			}
			if n := test.headers.BTH.Opcode.Size(); n != len(want) {
				t.Errorf("size %d, want %d", n, len(want))
			}
			var got packet.Headers
			payload, err := got.Parse(append(slices.Clone(want), "pay"...))
			if err != nil || string(payload) != "pay" {
				t.Errorf("payload %q, error %v", payload, err)
			}
			if diff := cmp.Diff(test.headers, got); diff != "" {
				t.Error(diff)
			}
			for n := range want {
				if _, err := got.Parse(want[:n]); !errors.Is(err, packet.ErrShort) {
					t.Errorf("the first %d bytes: %v, want ErrShort", n, err)
				}
			}
		})
	}
}

func TestPadding(t *testing.T) {
	for n, want := range map[int]uint8{0: 0, 1: 3, 2: 2, 3: 1, 4: 0, 4093: 3} {
		if got := packet.Padding(n); got != want {
			t.Errorf("padding of %d: %d, want %d", n, got, want)
		}
	}
	h := packet.Headers{BTH: packet.BTH{Opcode: packet.SendOnly, Pad: 3}}
	b := append(h.AppendTo(nil), 1, 0, 0, 0)
	if payload, err := h.Parse(b); err != nil || !slices.Equal(payload, []byte{1}) {
		t.Errorf("payload %x, %v", payload, err)
	}
	if _, err := h.Parse(b[:packet.BTHSize+2]); !errors.Is(err, packet.ErrShort) {
		t.Errorf("more padding than payload: %v", err)
	}
}

func TestOpcodes(t *testing.T) {
	known := 0
	for i := range 256 {
		o := packet.Opcode(i)
		var h packet.Headers
		_, err := h.Parse((&packet.Headers{BTH: packet.BTH{Opcode: o}}).AppendTo(nil))
		switch {
		case o.IsKnown() != (o.Size() > 0):
			t.Errorf("%v has %d bytes", o, o.Size())
		case o.IsKnown():
			known++
			if err != nil {
				t.Errorf("%v: %v", o, err)
			}
		case !errors.Is(err, packet.ErrOpcode):
			t.Errorf("%v: %v, want ErrOpcode", o, err)
		}
	}
	if want := 23 + 12 + 21 + 2 + 1; known != want {
		t.Errorf("%d opcodes are known, want %d", known, want)
	}
	for o, want := range map[packet.Opcode]string{
		packet.UC | packet.WriteFirst: "UC RDMA WRITE First", packet.UD | packet.SendOnly: "UD SEND Only",
		packet.CNP: "CNP", packet.UD | packet.ReadRequest: "Opcode(0x6c)", 0xff: "Opcode(0xff)",
	} {
		if o.String() != want {
			t.Errorf("%#x is %q, want %q", uint8(o), o, want)
		}
	}
	if !packet.ReadResponseLast.HasPayload() || packet.ReadRequest.HasPayload() || packet.Acknowledge.HasPayload() {
		t.Error("which packets have a payload is wrong")
	}
}

func TestRouting(t *testing.T) {
	lrh := packet.LRH{VL: 15, SL: 9, Next: packet.NextGRH, Words: 0x7ff, DLID: 0xc001, SLID: 0x1234}
	wantLRH := unhex(t, "f093c00107ff1234")
	grh := packet.GRH{Class: 0xab, Flow: 0xcdef1, Length: 0x2345, Hops: 64, Next: 0x1b}
	copy(grh.SGID[:], "source-gid-16-by")
	copy(grh.DGID[:], "destin-gid-16-by")
	wantGRH := append(unhex(t, "6abcdef123451b40"), "source-gid-16-bydestin-gid-16-by"...)
	if got := lrh.AppendTo(nil); !slices.Equal(got, wantLRH) {
		t.Errorf("LRH %x, want %x", got, wantLRH)
	}
	if got := grh.AppendTo(nil); !slices.Equal(got, wantGRH) {
		t.Errorf("GRH %x, want %x", got, wantGRH)
	}
	var gotLRH packet.LRH
	if rest, err := gotLRH.Parse(append(slices.Clone(wantLRH), 1)); err != nil || len(rest) != 1 || gotLRH != lrh {
		t.Errorf("LRH %+v, %v", gotLRH, err)
	}
	var gotGRH packet.GRH
	if rest, err := gotGRH.Parse(append(slices.Clone(wantGRH), 1)); err != nil || len(rest) != 1 || gotGRH != grh {
		t.Errorf("GRH %+v, %v", gotGRH, err)
	}
	for n := range wantLRH {
		if _, err := gotLRH.Parse(wantLRH[:n]); !errors.Is(err, packet.ErrShort) {
			t.Errorf("LRH of %d bytes: %v", n, err)
		}
	}
	for n := range wantGRH {
		if _, err := gotGRH.Parse(wantGRH[:n]); !errors.Is(err, packet.ErrShort) {
			t.Errorf("GRH of %d bytes: %v", n, err)
		}
	}
	wantLRH[0], wantGRH[0] = 1, 0x45
	if _, err := gotLRH.Parse(wantLRH); !errors.Is(err, packet.ErrVersion) {
		t.Errorf("LRH of version 1: %v", err)
	}
	if _, err := gotGRH.Parse(wantGRH); !errors.Is(err, packet.ErrVersion) {
		t.Errorf("GRH of version 4: %v", err)
	}
	h := packet.Headers{BTH: packet.BTH{Opcode: packet.SendOnly}}
	b := h.AppendTo(nil)
	b[1] |= 1
	if _, err := h.Parse(b); !errors.Is(err, packet.ErrVersion) {
		t.Errorf("BTH of version 1: %v", err)
	}
}

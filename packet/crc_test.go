package packet_test

import (
	"encoding/binary"
	"math/rand/v2"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"

	"heddle/internal/testenv"
	"heddle/packet"
)

// reference are packets that adapters or other programs put on the wire, from the
// Ethernet header to the ICRC.
func reference() []struct{ name, frame string } {
	return []struct{ name, frame string }{
		// A ConnectX-4 Lx told of congestion.
		{"CNP", "e41d2dab2bc27cfe90643b32080045c2003c718c4000401191610a0011010a001201000012b7002800008100ffff40000118000000000000000000000000000000000000000082fd002a"},
		{"UC SEND", "248a07a8fa22248a07a8fa22080045010040047840004011b4d5c0a80007c0a80007c00012b7002caca22460ffff000000d300cf17104630818be28935d90e9a95505401be885e50000078f353f3"},
	}
}

// parseFrame takes a frame of RoCEv2 over IPv4 or IPv6 apart.
func parseFrame(tb testing.TB, frame []byte) (f packet.Flow, body []byte) {
	tb.Helper()
	var link packet.Ethernet
	var udp packet.UDP
	rest, err := link.Parse(frame)
	must(tb, err)
	if link.Type == packet.EtherIPv4 {
		var ip packet.IPv4
		rest, err = ip.Parse(rest)
		must(tb, err)
		f = packet.Flow{From: ip.From, To: ip.To, ID: ip.ID}
	} else {
		var ip packet.IPv6
		rest, err = ip.Parse(rest)
		must(tb, err)
		f = packet.Flow{From: ip.From, To: ip.To}
	}
	rest, err = udp.Parse(rest)
	must(tb, err)
	f.FromPort, f.ToPort = udp.From, udp.To
	return f, rest
}

func must(tb testing.TB, err error) {
	if err != nil {
		tb.Helper()
		tb.Fatal(err)
	}
}

// TestReferenceICRC: the ICRCs of others are right by our rules, also where the
// identification is not known.
func TestReferenceICRC(t *testing.T) {
	for _, r := range reference() {
		t.Run(r.name, func(t *testing.T) {
			flow, body := parseFrame(t, unhex(t, r.frame))
			id := flow.ID
			for _, guess := range []uint16{id, 0, ^id} {
				flow.ID = guess
				transport, ok := flow.Check(body)
				if !ok || flow.ID != id {
					t.Fatalf("tried with ID %#x: %v, found %#x, want %#x", guess, ok, flow.ID, id)
				}
				var h packet.Headers
				if _, err := h.Parse(transport); err != nil {
					t.Fatal(err)
				}
			}
			flow.ID = id
			for bit := range 8 * len(body) {
				if bit/8 == 4 {
					continue // the reserved byte may change
				}
				damaged := slices.Clone(body)
				damaged[bit/8] ^= 1 << (bit % 8)
				found := flow
				if _, ok := found.Check(damaged); ok && found.ID == id {
					t.Errorf("bit %d changed, and the ICRC is right", bit)
				}
			}
		})
	}
}

// TestFindID: whatever the identification and the length, it is found.
func TestFindID(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	flow := packet.Flow{From: netip.MustParseAddr("10.1.2.3"), To: netip.MustParseAddr("10.1.2.4"), FromPort: 1000, ToPort: packet.RoCEPort}
	wrong := 0
	for range 2000 {
		body := make([]byte, 12+4*random.IntN(1100))
		for i := range body {
			body[i] = byte(random.Uint32())
		}
		flow.ID = uint16(random.Uint32())
		sum, err := flow.ICRC(body)
		must(t, err)
		body = binary.LittleEndian.AppendUint32(body, sum)
		found := flow
		found.ID = 0
		if _, ok := found.Check(body); !ok || found != flow {
			t.Fatalf("%d bytes: found %#x (%v), want %#x", len(body), found.ID, ok, flow.ID)
		}
		body[random.IntN(len(body)-4)] ^= 1 + byte(random.IntN(255))
		body[len(body)-1] ^= byte(random.Uint32())
		if _, ok := found.Check(body); ok {
			wrong++
		}
	}
	if wrong > 16 { // the reserved byte, and one in 65536
		t.Errorf("%d of 2000 damaged packets passed", wrong)
	}
	six := packet.Flow{From: netip.MustParseAddr("fd00::1"), To: netip.MustParseAddr("fd00::2"), ToPort: packet.RoCEPort}
	body := make([]byte, 20)
	sum, err := six.ICRC(body)
	must(t, err)
	if _, ok := six.Check(binary.LittleEndian.AppendUint32(slices.Clone(body), sum)); !ok {
		t.Error("an ICRC over IPv6 is not accepted")
	}
	if _, ok := six.Check(binary.LittleEndian.AppendUint32(body, sum^1)); ok {
		t.Error("a wrong ICRC over IPv6 is accepted")
	}
	if _, ok := six.Check(body[:15]); ok {
		t.Error("a packet without room for an ICRC is accepted")
	}
}

// TestFrames holds both CRCs against the frames of a capture of InfiniBand, all
// of which have them right.
func TestFrames(t *testing.T) {
	path, ok := testenv.Shared(t, "data", "vectors", "infiniband-pcap-frames.txt")
	if !ok {
		t.Log("without them, the ICRC is tested by the packets of RoCEv2 alone")
		return
	}
	frames := readFrames(t, path)
	if len(frames) != 43 {
		t.Fatalf("%d frames, want 43", len(frames))
	}
	for i, b := range frames {
		end := len(b) - packet.VCRCSize
		if got, want := packet.VCRC(b[:end]), binary.LittleEndian.Uint16(b[end:]); got != want {
			t.Errorf("frame %d: VCRC %#x, want %#x", i+1, got, want)
		}
		end -= packet.ICRCSize
		got, err := packet.ICRC(b[:end])
		if want := binary.LittleEndian.Uint32(b[end:]); got != want || err != nil {
			t.Errorf("frame %d: ICRC %#x, want %#x (%v)", i+1, got, want, err)
		}
		again(t, i+1, b[:end])
	}
}

// again reads a frame's headers and writes them anew.
func again(t *testing.T, number int, b []byte) {
	t.Helper()
	var lrh packet.LRH
	var grh packet.GRH
	var h packet.Headers
	rest, err := lrh.Parse(b)
	must(t, err)
	if int(lrh.Words)*4 != len(b)+packet.ICRCSize {
		t.Errorf("frame %d: %d words, %d bytes", number, lrh.Words, len(b))
	}
	out := lrh.AppendTo(nil)
	if lrh.Next == packet.NextGRH {
		rest, err = grh.Parse(rest)
		must(t, err)
		out = grh.AppendTo(out)
	}
	payload, err := h.Parse(rest)
	must(t, err)
	out = append(h.AppendTo(out), payload...)
	out = append(out, make([]byte, h.BTH.Pad)...)
	out[len(b)-len(rest)+4] = rest[4] // the reserved byte
	if !slices.Equal(out, b) {
		t.Errorf("frame %d: written again as\n%x, want\n%x", number, out, b)
	}
}

func readFrames(t *testing.T, path string) (frames [][]byte) {
	t.Helper()
	text, err := os.ReadFile(path)
	must(t, err)
	for _, block := range strings.Split(string(text), "\n\n")[1:] {
		var hex strings.Builder
		for line := range strings.Lines(block) {
			if line = strings.TrimSpace(line); line != "" && !strings.ContainsAny(line, "[=#") {
				hex.WriteString(line)
			}
		}
		frames = append(frames, unhex(t, hex.String()))
	}
	return frames
}

// TestVCRCSlow holds the VCRC against the division bit by bit.
func TestVCRCSlow(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for n := range 70 {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(random.Uint32())
		}
		want := uint16(0xffff)
		for _, x := range b {
			for bit := range 8 {
				carry := want&1 ^ uint16(x>>bit&1)
				want >>= 1
				if carry != 0 {
					want ^= 0xd008 // 0x100b, its bits reversed
				}
			}
		}
		if got := packet.VCRC(b); got != ^want {
			t.Errorf("%d bytes: %#x, want %#x", n, got, ^want)
		}
	}
}

// TestICRCRefuses what it cannot read.
func TestICRCRefuses(t *testing.T) {
	lrh := packet.LRH{Next: packet.NextGRH}
	for _, b := range [][]byte{nil, make([]byte, 8), lrh.AppendTo(nil), lrh.AppendTo(nil)[:7], append(lrh.AppendTo(nil), make([]byte, 45)...)} {
		if _, err := packet.ICRC(b); err == nil {
			t.Errorf("%x has an ICRC", b)
		}
	}
}

func TestNoAllocs(t *testing.T) {
	flow, body := parseFrame(t, unhex(t, reference()[1].frame))
	var h packet.Headers
	out := make([]byte, 0, 256)
	frame := append((&packet.LRH{Next: packet.NextBTH}).AppendTo(nil), body...)
	if n := testing.AllocsPerRun(20, func() {
		flow.ID++
		transport, ok := flow.Check(body)
		_, err := h.Parse(transport)
		out = h.AppendTo(out[:0])
		_, err2 := packet.ICRC(frame)
		if packet.VCRC(frame); !ok || err != nil || err2 != nil {
			panic("cannot be")
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkICRC(b *testing.B) {
	flow := packet.Flow{From: netip.MustParseAddr("10.1.2.3"), To: netip.MustParseAddr("10.1.2.4"), FromPort: 1000, ToPort: packet.RoCEPort}
	for _, n := range []int{64, 4096} {
		b.Run(map[int]string{64: "64", 4096: "4096"}[n], func(b *testing.B) {
			body := make([]byte, packet.BTHSize+n)
			b.SetBytes(int64(n))
			for b.Loop() {
				if _, err := flow.ICRC(body); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkFindID(b *testing.B) {
	flow := packet.Flow{From: netip.MustParseAddr("10.1.2.3"), To: netip.MustParseAddr("10.1.2.4"), FromPort: 1000, ToPort: packet.RoCEPort, ID: 4711}
	body := make([]byte, packet.BTHSize+4096)
	sum, _ := flow.ICRC(body)
	body = binary.LittleEndian.AppendUint32(body, sum)
	for b.Loop() {
		flow.ID = 0
		if _, ok := flow.Check(body); !ok {
			b.Fatal("not found")
		}
	}
}

func BenchmarkVCRC(b *testing.B) {
	body := make([]byte, 4096)
	b.SetBytes(4096)
	for b.Loop() {
		packet.VCRC(body)
	}
}

func BenchmarkHeaders(b *testing.B) {
	h := packet.Headers{BTH: packet.BTH{Opcode: packet.WriteOnly}}
	out := make([]byte, 0, 64)
	for b.Loop() {
		out = h.AppendTo(out[:0])
		if _, err := h.Parse(out); err != nil {
			b.Fatal(err)
		}
	}
}

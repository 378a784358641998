package packet_test

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"heddle/ib"
	"heddle/internal/testenv"
	"heddle/packet"
)

// Link types of capture files. tshark reads InfiniBand's packets as records of
// Endace's format only.
const (
	captureEthernet = 1
	captureERF      = 197
)

// erf is the header of such a record, of a packet of InfiniBand.
func erf(n int) []byte {
	b := append(make([]byte, 8), 21, 4)
	b = binary.BigEndian.AppendUint16(b, uint16(16+n))
	return binary.BigEndian.AppendUint16(append(b, 0, 0), uint16(n))
}

// capture writes a file of packets.
func capture(t *testing.T, link uint32, packets [][]byte) string {
	t.Helper()
	b := binary.LittleEndian.AppendUint32(nil, 0xa1b2c3d4)
	b = binary.LittleEndian.AppendUint32(b, 2|4<<16)
	b = append(b, make([]byte, 8)...)
	b = binary.LittleEndian.AppendUint32(b, 1<<16)
	b = binary.LittleEndian.AppendUint32(b, link)
	for i, p := range packets {
		for _, v := range []int{i, 0, len(p), len(p)} {
			b = binary.LittleEndian.AppendUint32(b, uint32(v))
		}
		b = append(b, p...)
	}
	path := filepath.Join(t.TempDir(), "packets.pcap")
	must(t, os.WriteFile(path, b, 0o600))
	return path
}

// shark has tshark read a file, and gives a line of fields for each packet.
func shark(t *testing.T, path string, fields ...string) []string {
	t.Helper()
	args := []string{"-r", path, "-T", "fields"}
	for _, f := range fields {
		args = append(args, "-e", f)
	}
	out, err := exec.CommandContext(t.Context(), testenv.Peer(t, "tshark"), args...).Output()
	must(t, err)
	return strings.Split(strings.TrimRight(string(out), "\n"), "\n")
}

// transports are packets of all opcodes that adapters use, from BTH to padding.
func transports() (list [][]byte) {
	for i := range 256 {
		o := packet.Opcode(i)
		if !o.IsKnown() || o.Service() == packet.RD || o == packet.CNP { // tshark knows the BTH of these at most
			continue
		}
		payload := 0
		if o.HasPayload() {
			payload = 33
		}
		h := packet.Headers{
			BTH: packet.BTH{
				Opcode: o, Migrated: true, Pad: packet.Padding(payload), PKey: ib.DefaultPKey,
				QPN: 0x4321, AckReq: true, PSN: uint32(0xfedc00 + i),
			},
			DETH: packet.DETH{QKey: 5, From: 0x1234}, RETH: packet.RETH{Addr: 1 << 40, RKey: 77, Length: 33},
			AETH: packet.AETH{Syndrome: packet.NoCredits, MSN: 9},
		}
		b := append(h.AppendTo(nil), make([]byte, payload)...)
		list = append(list, append(b, make([]byte, h.BTH.Pad)...))
	}
	return list
}

// TestShark: tshark finds nothing malformed in what this package makes, and reads
// the same values.
func TestShark(t *testing.T) {
	flows := []packet.Flow{
		{From: netip.MustParseAddr("10.0.0.1"), To: netip.MustParseAddr("10.0.0.2"), FromPort: 50000, ToPort: packet.RoCEPort, ID: 3},
		{From: netip.MustParseAddr("fd00::1"), To: netip.MustParseAddr("fd00::2"), FromPort: 50000, ToPort: packet.RoCEPort},
	}
	for _, flow := range flows {
		var frames [][]byte
		for _, b := range transports() {
			frame, err := flow.AppendFrame(nil, packet.Ethernet{To: [6]byte{2, 1}, From: [6]byte{2, 2}}, 64, b)
			must(t, err)
			frames = append(frames, frame)
		}
		compare(t, capture(t, captureEthernet, frames), frames, 0)
	}
	var frames [][]byte
	for i, b := range transports() {
		lrh := packet.LRH{VL: 3, SL: 2, Next: packet.NextBTH, DLID: 4, SLID: 5}
		grh := packet.GRH{Hops: 64, Length: uint16(len(b) + packet.ICRCSize), SGID: ib.MustParseGID("fe80::1"), DGID: ib.MustParseGID("fe80::2")}
		n := packet.LRHSize + len(b) + packet.ICRCSize
		if i%2 == 1 {
			lrh.Next, n = packet.NextGRH, n+packet.GRHSize
		}
		lrh.Words = uint16(n / 4)
		frame := lrh.AppendTo(nil)
		if i%2 == 1 {
			frame = grh.AppendTo(frame)
		}
		frame = append(frame, b...)
		sum, err := packet.ICRC(frame)
		must(t, err)
		frame = binary.LittleEndian.AppendUint32(frame, sum)
		frame = binary.LittleEndian.AppendUint16(frame, packet.VCRC(frame))
		frames = append(frames, append(erf(len(frame)), frame...))
	}
	compare(t, capture(t, captureERF, frames), frames, packet.VCRCSize)
}

// compare holds what tshark reads against the frames, which end with an ICRC and
// so many bytes more.
func compare(t *testing.T, path string, frames [][]byte, behind int) {
	t.Helper()
	lines := shark(t, path, "infiniband.bth.opcode", "infiniband.bth.destqp", "infiniband.bth.psn", "infiniband.invariant.crc", "_ws.malformed")
	if len(lines) != len(frames) {
		t.Fatalf("%d packets of %d", len(lines), len(frames))
	}
	for i, b := range transports() {
		var h packet.Headers
		_, err := h.Parse(b)
		must(t, err)
		frame := frames[i][:len(frames[i])-behind]
		crc := fmt.Sprintf("0x%x", frame[len(frame)-packet.ICRCSize:])
		want := fmt.Sprintf("%d\t0x%06x\t%d\t%s\t", uint8(h.BTH.Opcode), uint32(h.BTH.QPN), h.BTH.PSN, crc)
		if lines[i] != want {
			t.Errorf("%v: tshark reads %q, want %q", h.BTH.Opcode, lines[i], want)
		}
	}
}

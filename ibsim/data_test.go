package ibsim_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"heddle/ib"
	"heddle/ibsim"
	"heddle/mad"
)

// The packets of `smpquery -D nodeinfo 0,1`, preloaded with libumad2sim.so
// 0.10, and of ibsim 0.10's answer, recorded by strace on a little-endian
// host. Byte 20 to 23 are padding that umad2sim leaves as it finds it.
const (
	goldenRequest = "ffff0000ffff0000000000000000000000000000207f00000000000000000100" +
		"018101010000000100000001" + "74b51273" + "0011000000000000" + "0000000000000000ffffffff"
	goldenAnswer = "ffff0000ffff0000000000000000000000000000207f00000000000000000100" +
		"018101818000000100000001" + "74b51273" + "0011000000000000" + "0000000000000000ffffffff"
)

func TestPacketGolden(t *testing.T) {
	b := unhex(t, goldenRequest, ibsim.PacketSize)
	b[32+128+1] = 1
	p, err := ibsim.ParsePacket(b)
	if err != nil {
		t.Fatal(err)
	}
	if p.DLID() != ib.PermissiveLID || p.SLID() != ib.PermissiveLID || p.Length() != mad.Size {
		t.Errorf("addresses %v %v, length %d", p.DLID(), p.SLID(), p.Length())
	}
	want := mad.Header{
		Class: mad.ClassDirected, ClassVersion: 1, Method: mad.MethodGet,
		Specific: 1, TID: 0x174b51273, Attr: mad.AttrNodeInfo,
	}
	if diff := cmp.Diff(want, p.MAD().Header()); diff != "" {
		t.Errorf("header (-want +got):\n%s", diff)
	}
	own := ownRequest(t, want)
	copy(own[20:24], b[20:24])
	if diff := cmp.Diff(b, own[:]); diff != "" {
		t.Errorf("our bytes (-want +got):\n%s", diff)
	}
}

// ownRequest is the golden request as we write it.
func ownRequest(t *testing.T, h mad.Header) *ibsim.Packet {
	t.Helper()
	var p ibsim.Packet
	p.SetDLID(ib.PermissiveLID)
	p.SetSLID(ib.PermissiveLID)
	p.SetLength(mad.Size)
	p.MAD().SetHeader(h)
	if err := p.MAD().SetPath([]uint8{1}); err != nil {
		t.Fatal(err)
	}
	return &p
}

func TestPacketAnswerGolden(t *testing.T) {
	p, err := ibsim.ParsePacket(unhex(t, goldenAnswer, ibsim.PacketSize))
	if err != nil {
		t.Fatal(err)
	}
	if m := p.MAD(); !m.IsResponse() || !m.Returning() || m.Status() != mad.StatusOK || p.Status() != 0 {
		t.Errorf("not an answer: %v", m.Header())
	}
}

// Addresses written by hand in the layout of a little-endian host: from queue
// pair 1 at LID 3 to queue pair 42 at LID 7.
func TestPacketAddresses(t *testing.T) {
	const addresses = "00070000" + "00030000" + "0000002a" + "00000001" + "0000006e"
	p, err := ibsim.ParsePacket(unhex(t, addresses, ibsim.PacketSize))
	if err != nil {
		t.Fatal(err)
	}
	got := []int{int(p.DLID()), int(p.SLID()), int(p.DQP()), int(p.SQP()), int(p.Status())}
	if diff := cmp.Diff([]int{7, 3, 42, 1, ibsim.StatusTimeout}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestPacketAccessors(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var p ibsim.Packet
		copy(p[:], rapid.SliceOfN(rapid.Byte(), ibsim.PacketSize, ibsim.PacketSize).Draw(t, "bytes"))
		dlid, slid := ib.LID(rapid.Uint16().Draw(t, "dlid")), ib.LID(rapid.Uint16().Draw(t, "slid"))
		dqp, sqp := ib.QPN(rapid.Uint32().Draw(t, "dqp")), ib.QPN(rapid.Uint32().Draw(t, "sqp"))
		status, length := rapid.Uint32().Draw(t, "status"), rapid.Uint64().Draw(t, "length")
		datagram := *p.MAD()
		p.SetDLID(slid)
		p.SetSLID(dlid)
		p.SetDQP(sqp)
		p.SetSQP(dqp)
		p.SetStatus(status)
		p.SetLength(length)
		p.Turn()
		if p.DLID() != dlid || p.SLID() != slid || p.DQP() != dqp || p.SQP() != sqp {
			t.Fatal("the addresses are not those that were set")
		}
		if p.Status() != status || p.Length() != length || *p.MAD() != datagram {
			t.Fatal("status, length or datagram differ")
		}
	})
}

func TestPacketSizes(t *testing.T) {
	for n := range 2 * ibsim.PacketSize {
		p, err := ibsim.ParsePacket(make([]byte, n))
		if (n == ibsim.PacketSize) != (err == nil) || (p == nil) != errors.Is(err, ibsim.ErrMalformed) {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
}

func TestPacketDoesNotAllocate(t *testing.T) {
	b := unhex(t, goldenRequest, ibsim.PacketSize)
	sum := 0
	allocs := testing.AllocsPerRun(100, func() {
		p, err := ibsim.ParsePacket(b)
		if err != nil {
			return
		}
		p.Turn()
		p.SetStatus(ibsim.StatusTimeout)
		sum += int(p.MAD().TID()) + int(p.DQP())
	})
	if allocs != 0 {
		t.Errorf("%v allocations", allocs)
	}
}

func FuzzParsePacket(f *testing.F) {
	f.Add(unhex(f, goldenRequest, ibsim.PacketSize))
	f.Add(unhex(f, goldenAnswer, ibsim.PacketSize))
	f.Add([]byte(strings.Repeat("x", 287)))
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := ibsim.ParsePacket(b)
		if (p == nil) != (err != nil) {
			t.Fatalf("%v, %v", p, err)
		}
		if err != nil {
			return
		}
		was := *p
		p.Turn()
		p.Turn()
		if p.DLID() != was.DLID() || p.SQP() != was.SQP() || *p.MAD() != *was.MAD() {
			t.Fatal("turned twice is not the same")
		}
	})
}

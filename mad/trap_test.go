package mad

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"heddle/ib"
)

// trapDetails is the details of a trap whose test file tells how OpenSM prints
// them in its log.
type trapDetails interface {
	Details
	opensm() []string
}

// sampleTraps are the traps of testdata/sa/trap.hex.
func sampleTraps() []struct {
	trap     TrapNumber
	producer ProducerType
	details  trapDetails
} {
	gid1, gid2 := ib.MustParseGID("fe80::1111:1111:1111:1111"), ib.MustParseGID("fe80::2222:2222:2222:2222")
	key := func(k uint32) BadKeyDetails {
		return BadKeyDetails{LID1: 4, LID2: 5, Key: k, SL: 7, QP1: 0x010203, QP2: 0x040506, GID1: gid1, GID2: gid2}
	}
	path := [30]uint8{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30}
	return []struct {
		trap     TrapNumber
		producer ProducerType
		details  trapDetails
	}{
		{TrapLinkIntegrity, ProducerCA, PortErrorDetails{LID: 4, Port: 1}},
		{TrapBufferOverrun, ProducerCA, PortErrorDetails{LID: 4, Port: 1}},
		{TrapFlowControl, ProducerCA, PortErrorDetails{LID: 4, Port: 1}},
		{TrapLocalChanges, ProducerCA, LocalChangesDetails{
			LID: 4, Other: true, CapabilityMask: 0x50c048, Changes: localChanges, CapabilityMask2: 0x1234,
		}},
		{TrapSystemImage, ProducerCA, SystemImageDetails{LID: 4, SystemImageGUID: 0x1122334455667788}},
		{TrapBadMKey, ProducerCA, BadMKeyDetails{
			LID: 4, DrSLID: 5, Method: MethodSet, Attr: AttrPortInfo, Modifier: 0x01020304, MKey: 0x1122334455667788,
			Directed: true, HopCount: 5, Path: path,
		}},
		{TrapBadPKey, ProducerCA, key(0x1234)},
		{TrapBadQKey, ProducerCA, key(0x12345678)},
		{TrapSwitchBadPKey, ProducerSwitch, SwitchBadPKeyDetails{
			Valid: 0xFF00, LID1: 4, LID2: 5, PKey: 0x1234, SL: 7, QP1: 0x010203, QP2: 0x040506,
			GID1: gid1, GID2: gid2, SwitchLID: 2, Port: 6,
		}},
	}
}

// TestTrapsAsOpenSMReadsThem: the traps that we sent to OpenSM are the bytes of
// today, and OpenSM read in them what we mean.
func TestTrapsAsOpenSMReadsThem(t *testing.T) {
	list := recorded(t, "trap.hex")
	dumps := opensmDumps(t)
	for i, c := range sampleTraps() {
		t.Run(c.trap.String(), func(t *testing.T) {
			n := NewNotice(c.trap, c.producer, c.details)
			n.IssuerLID = 4
			d := list[i]
			if b := n.AppendTo(nil); !bytes.Equal(b, d.Data()) {
				t.Errorf("we sent %x, now %x", d.Data(), b)
			}
			if got, ok := n.ParseDetails(); !ok || got != c.details {
				t.Errorf("parsed %v %+v, want %+v", ok, got, c.details)
			}
			want := append([]string{
				line("type", uint8(n.Type)), line("prod_type", openProducer(c.producer)), line("trap_num", uint16(c.trap)),
			}, c.details.opensm()...)
			if diff := cmp.Diff(want, dumps[i]); diff != "" {
				t.Errorf("we wrote (-), OpenSM reads (+):\n%s", diff)
			}
		})
	}
}

func openProducer(p ProducerType) string {
	if p == ProducerSwitch {
		return "2 (Switch)"
	}
	return "1 (Channel Adapter)"
}

// opensmDumps are the lines of OpenSM's log, from the comments of the file.
func opensmDumps(t *testing.T) [][]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "sa", "trap.hex"))
	if err != nil {
		t.Fatal(err)
	}
	var dumps [][]string
	for part := range strings.SplitSeq(string(text), "\n\n") {
		var comment strings.Builder
		for text := range strings.Lines(part) {
			if text, ok := strings.CutPrefix(text, "#   "); ok {
				comment.WriteString(text)
			}
		}
		dumps = append(dumps, saqueryLines(comment.String()))
	}
	return dumps
}

// TestDetailsOfTraps: the details of every trap are known, and of no other.
func TestDetailsOfTraps(t *testing.T) {
	known := map[TrapNumber]bool{}
	for _, trap := range []TrapNumber{64, 65, 66, 67, 128, 129, 130, 131, 144, 145, 256, 257, 258, 259} {
		known[trap] = true
	}
	for trap := range TrapNumber(1000) {
		n := Notice{IsGeneric: true, Trap: trap}
		d, ok := n.ParseDetails()
		if ok != known[trap] || ok && d.Pack() != n.Details {
			t.Errorf("trap %v: %v, %+v", trap, ok, d)
		}
		if named := trap.name() != ""; named != known[trap] {
			t.Errorf("trap %v has no name", trap)
		}
	}
	if d, ok := (Notice{Trap: TrapLinkState}).ParseDetails(); ok {
		t.Errorf("a vendor's notice has details %+v", d)
	}
}

func TestTrapStrings(t *testing.T) {
	checkStrings(t, []TrapNumber{TrapGIDInService, TrapSwitchBadPKey, TrapAll, 1}, "64 GIDInService", "259 SwitchBadPKey", "65535 all", "1")
	checkStrings(t, []LocalChanges{0, ChangedNodeDescription | ChangedCapabilityMask2}, "none", "NodeDescription|CapabilityMask2")
}

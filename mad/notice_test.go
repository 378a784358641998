package mad

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"

	"heddle/ib"
)

// TestNotice: what OpenSM reported, and what ibsim sent as a trap. OpenSM
// leaves what it finds in the toggle, the count, and the bytes that an event
// does not define.
func TestNotice(t *testing.T) {
	port1, switch2 := ib.MustParseGID("fe80::10:1"), ib.MustParseGID("fe80::20:1")
	group, hca4 := ib.MustParseGID("ff15:a01b:fe80::99"), ib.MustParseGID("fe80::10:a")
	list := recorded(t, "notice.hex")
	for i, c := range []struct {
		method  Method
		notice  Notice
		details Details
	}{
		{MethodReport, report(TrapGroupCreated, ProducerManager, 1, port1), GIDDetails{group}},
		{MethodReport, report(TrapGroupDeleted, ProducerManager, 1, port1), GIDDetails{group}},
		{MethodReport, report(TrapLinkState, ProducerSwitch, 3, switch2), LinkStateDetails{3}},
		{MethodReport, report(TrapGIDOutOfService, ProducerManager, 1, port1), GIDDetails{hca4}},
		{MethodReport, report(TrapGIDInService, ProducerManager, 1, port1), GIDDetails{hca4}},
		{MethodTrap, report(TrapLinkState, ProducerSwitch, 3, ib.GID{}), LinkStateDetails{3}},
		{MethodTrap, report(TrapLocalChanges, ProducerCA, 5, ib.GID{}), LocalChangesDetails{LID: 5, CapabilityMask: 0x50c04a}},
	} {
		d := list[i]
		t.Run(d.title, func(t *testing.T) {
			got, err := ParseNotice(d.Data())
			if err != nil {
				t.Fatal(err)
			}
			c.notice.Toggle, c.notice.Count, c.notice.Details = got.Toggle, got.Count, got.Details
			if diff := cmp.Diff(c.notice, got); diff != "" || d.Method() != c.method || d.Attr() != AttrNotice {
				t.Errorf("%v %v, want (-), got (+):\n%s", d.Method(), d.Attr(), diff)
			}
			if details, ok := got.ParseDetails(); !ok || details != c.details {
				t.Errorf("details %v %+v, want %+v", ok, details, c.details)
			}
			if b := got.AppendTo(nil); !bytes.Equal(b, d.Data()[:got.Len()]) {
				t.Errorf("encoded %x\nwant    %x", b, d.Data()[:got.Len()])
			}
		})
	}
}

// report is a notice without its details.
func report(trap TrapNumber, producer ProducerType, issuer ib.LID, gid ib.GID) Notice {
	n := NewNotice(trap, producer, LinkStateDetails{})
	n.IssuerLID, n.IssuerGID = issuer, gid
	return n
}

// TestNoticeInSMP: a notice without the issuer's GID fits into an SMP, and one
// with it into a datagram of subnet administration.
func TestNoticeInSMP(t *testing.T) {
	n := sampleNotice
	for _, c := range []struct {
		class Class
		gid   ib.GID
		n     int
	}{{ClassLID, ib.GID{}, 64}, {ClassSA, gidA, 80}} {
		var d Datagram
		d.SetHeader(Header{Class: c.class, Method: MethodTrap, Attr: AttrNotice})
		n.IssuerGID = c.gid
		if b := n.AppendTo(d.Data()[:0]); len(b) != c.n || n.Len() != c.n || &b[0] != &d.Data()[0] {
			t.Errorf("%v: %d bytes, Len %d", c.class, len(b), n.Len())
		}
		if got, err := ParseNotice(d.Data()); err != nil || got != n {
			t.Errorf("%v: %v, got %+v, want %+v", c.class, err, got, n)
		}
	}
}

func TestNoticeStrings(t *testing.T) {
	checkStrings(t, []NoticeType{NoticeFatal, NoticeUrgent, NoticeSecurity, NoticeSubnetManagement, NoticeInformational, NoticeEmpty, 9},
		"Fatal", "Urgent", "Security", "SubnetManagement", "Informational", "Empty", "NoticeType(0x09)")
	checkStrings(t, []ProducerType{ProducerCA, ProducerSwitch, ProducerRouter, ProducerManager, 0x2c9},
		"CA", "Switch", "Router", "ClassManager", "ProducerType(0x0002c9)")
}

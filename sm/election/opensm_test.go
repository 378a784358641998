package election

import (
	"encoding/hex"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"heddle/mad"
)

// theirs is how OpenSM 3.3.23 answered a Set of SMInfo: recorded from it, on
// the emulated subnet. The bytes are the header and the SMInfo of the answer.
type theirs struct {
	name    string
	state   mad.SMState // OpenSM's
	control mad.SMControl
	sender  mad.SMState
	key     mad.SMKey // the sender's, OpenSM's is 1
	header  string
	info    string
	ours    mad.Status // our answer
}

func recorded() []theirs {
	return []theirs{
		{
			"handover to a standby", mad.SMStandby, mad.SMControlHandover, mad.SMMaster, 1,
			"018101818000000200010000c7b4f5250020000000000001", "020000020000000100000000000000010000016392", mad.StatusOK,
		},
		{
			"handover to a master", mad.SMMaster, mad.SMControlHandover, mad.SMMaster, 1,
			"018101818000000200010000c7b4f52c0020000000000001", "020000020000000100000000000000010000048a93", mad.StatusOK,
		},
		{
			"handover by a standby", mad.SMMaster, mad.SMControlHandover, mad.SMStandby, 1,
			"018101818700000200010000c7b4f5270020000000000001", "020000020000000100000000000000010000048593", Refused,
		},
		{
			"acknowledge to a master", mad.SMMaster, mad.SMControlAcknowledge, mad.SMStandby, 1,
			"018101818700000200010000c7b4f5280020000000000002", "020000020000000100000000000000010000048693", Refused,
		},
		{
			"standby by a standby", mad.SMMaster, mad.SMControlStandby, mad.SMStandby, 1,
			"018101818700000200010000c7b4f5290020000000000004", "020000020000000100000000000000010000048793", Refused,
		},
		{
			"discover by a standby", mad.SMMaster, mad.SMControlDiscover, mad.SMStandby, 1,
			"018101818700000200010000c7b4f52a0020000000000005", "020000020000000100000000000000010000048893", Refused,
		},
		{
			"disable by a standby", mad.SMMaster, mad.SMControlDisable, mad.SMStandby, 1,
			"018101818700000200010000c7b4f52b0020000000000003", "020000020000000100000000000000010000048993", Refused,
		},
		{
			// Here we differ: it may be the same request once more.
			"standby to a standby", mad.SMStandby, mad.SMControlStandby, mad.SMMaster, 1,
			"01810181870000020001000053e549220020000000000004", "020000020000000100000000000000010000016732", mad.StatusOK,
		},
		{
			// Here too: who was handed the subnet may say so.
			"acknowledge to a standby", mad.SMStandby, mad.SMControlAcknowledge, mad.SMMaster, 1,
			"01810181870000020001000053e549230020000000000002", "020000020000000100000000000000010000016832", mad.StatusOK,
		},
		{
			"disable", mad.SMStandby, mad.SMControlDisable, mad.SMMaster, 1,
			"01810181800000020001000053e549240020000000000003", "020000020000000100000000000000010000016932", mad.StatusOK,
		},
		{
			"handover to one that is disabled", mad.SMNotActive, mad.SMControlHandover, mad.SMMaster, 1,
			"01810181870000020001000053e549260020000000000001", "020000020000000100000000000000010000016b30", Refused,
		},
		{
			"discover to one that is disabled", mad.SMNotActive, mad.SMControlDiscover, mad.SMMaster, 1,
			"01810181870000020001000053e549280020000000000005", "020000020000000100000000000000010000016d30", Refused,
		},
		{
			"standby to one that is disabled", mad.SMNotActive, mad.SMControlStandby, mad.SMMaster, 1,
			"01810181800000020001000053e5492a0020000000000004", "020000020000000100000000000000010000016f30", mad.StatusOK,
		},
		{
			"discover", mad.SMStandby, mad.SMControlDiscover, mad.SMMaster, 1,
			"01810181800000020001000053e5492c0020000000000005", "020000020000000100000000000000010000017332", mad.StatusOK,
		},
		{
			// And here: OpenSM does not look at the key of a Set.
			"handover with a foreign key", mad.SMMaster, mad.SMControlHandover, mad.SMMaster, 2,
			"018101818000000200010000e4cb4dd20020000000000001", "020000020000000100000000000000010000048533", Refused,
		},
		{
			"disable with a foreign key", mad.SMMaster, mad.SMControlDisable, mad.SMMaster, 2,
			"018101818700000200010000e4cb4dd30020000000000003", "020000020000000100000000000000010000048733", Refused,
		},
	}
}

// datagram puts recorded bytes to their places.
func datagram(t *testing.T, header, info string) *mad.Datagram {
	t.Helper()
	d := new(mad.Datagram)
	for at, text := range map[int]string{0: header, 64: info} {
		b, err := hex.DecodeString(text)
		if err != nil {
			t.Fatal(err)
		}
		copy(d[at:], b)
	}
	return d
}

// TestAnswersOfOpenSM holds our answers against those of OpenSM.
func TestAnswersOfOpenSM(t *testing.T) {
	for _, test := range recorded() {
		t.Run(test.name, func(t *testing.T) {
			d := datagram(t, test.header, test.info)
			info := checkBytes(t, d)
			if info.SMState != test.state || d.Modifier() != uint32(test.control) || d.Method() != mad.MethodGetResp {
				t.Fatalf("recorded %+v of %+v", info, d.Header())
			}
			m := in(t, test.state, info)
			status, answer := m.Request(time.Unix(100, 0), Request{Set: true, Control: test.control, Info: mad.SMInfo{
				GUID: other, SMKey: test.key, Priority: 5, ActCount: 1, SMState: test.sender,
			}})
			if status != test.ours {
				t.Errorf("status %v, want %v", status, test.ours)
			}
			agrees := test.name != "standby to a standby" && test.name != "acknowledge to a standby" && test.name != "handover with a foreign key"
			if (status == d.Status()) != agrees {
				t.Errorf("status %v, OpenSM's is %v", status, d.Status())
			}
			answer.ActCount = info.ActCount
			if diff := cmp.Diff(info, answer); diff != "" {
				t.Errorf("answer (-OpenSM's +ours):\n%s", diff)
			}
		})
	}
}

const other = 0x0200000200000011

// checkBytes holds that what a recorded datagram tells is written as the same
// bytes.
func checkBytes(t *testing.T, d *mad.Datagram) mad.SMInfo {
	t.Helper()
	info, err := mad.ParseSMInfo(d.Data())
	if err != nil {
		t.Fatal(err)
	}
	again := new(mad.Datagram)
	again.SetHeader(d.Header())
	info.AppendTo(again.Data()[:0])
	if diff := cmp.Diff(d, again); diff != "" {
		t.Errorf("bytes (-recorded +written):\n%s", diff)
	}
	return info
}

// in is a machine in a state, with the GUID, priority and key of an SMInfo. In
// Standby, and before it was disabled, the other is its master.
func in(t *testing.T, state mad.SMState, info mad.SMInfo) *Machine {
	t.Helper()
	m := New(Config{GUID: info.GUID, Priority: info.Priority, Key: info.SMKey})
	master := mad.SMInfo{GUID: other, SMKey: info.SMKey, Priority: 5, SMState: mad.SMMaster}
	now := time.Unix(0, 0)
	m.Start(now)
	if state == mad.SMMaster {
		m.Swept(now, nil)
	} else {
		m.Swept(now, []Peer{{Port: other, Info: master}})
	}
	if state == mad.SMNotActive {
		m.Request(now, Request{Set: true, Control: mad.SMControlDisable, Info: master})
	}
	if m.State() != state {
		t.Fatalf("%v, want %v", m.State(), state)
	}
	m.Take()
	return m
}

// TestRequestsOfOpenSM gives a machine what OpenSM sent: a Get, and the
// HANDOVER of a master of priority 3.
func TestRequestsOfOpenSM(t *testing.T) {
	get := datagram(t, "018101010000030200020000000012500020000000000000", "")
	if h := get.Header(); h.Method != mad.MethodGet || h.Attr != mad.AttrSMInfo || checkBytes(t, get) != (mad.SMInfo{}) {
		t.Errorf("Get: %+v", h)
	}
	set := datagram(t, "018101020000030200020000000016530020000000000001", "020000020000000100000000000000010000041f33")
	info := checkBytes(t, set)
	m := New(Config{GUID: other, Priority: 9, Key: 1})
	m.Start(time.Unix(0, 0))
	m.Swept(time.Unix(0, 0), []Peer{{Port: info.GUID, Info: info, Path: []uint8{1, 3}}})
	m.Take()
	status, answer := m.Request(time.Unix(1, 0), Request{Set: true, Control: mad.SMControl(set.Modifier()), Info: info})
	if status != mad.StatusOK || answer.SMState != mad.SMStandby || m.State() != mad.SMMaster {
		t.Errorf("status %v, %+v, then %v", status, answer, m.State())
	}
	var acknowledged, leads bool
	for _, a := range m.Take() {
		leads = leads || a.Kind == Lead
		if a.Kind == Tell && a.Control == mad.SMControlAcknowledge {
			acknowledged = a.Info.SMState == mad.SMStandby && len(a.Peer.Path) == 2
		}
	}
	if !acknowledged || !leads {
		t.Errorf("acknowledged %v, leads %v", acknowledged, leads)
	}
	// Its SMInfo still said Master: that is over, and no reason to hand back.
	m.Programmed(time.Unix(2, 0))
	m.Advance(time.Unix(3, 0))
	if m.State() != mad.SMMaster {
		t.Errorf("%v after a HANDOVER", m.State())
	}
}

// TestHandoverByTheBetter: a better master that stops hands over, and what it
// said of itself then is no reason to hand the subnet back.
func TestHandoverByTheBetter(t *testing.T) {
	m := in(t, mad.SMStandby, mad.SMInfo{GUID: 0x99, Priority: 1, SMKey: 1})
	m.Request(time.Unix(1, 0), Request{Set: true, Control: mad.SMControlHandover, Info: mad.SMInfo{
		GUID: other, SMKey: 1, Priority: 5, SMState: mad.SMMaster,
	}})
	m.Programmed(time.Unix(2, 0))
	if m.State() != mad.SMMaster {
		t.Errorf("%v after a HANDOVER: %+v", m.State(), m.Take())
	}
}

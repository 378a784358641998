package election

import (
	"slices"
	"testing"
	"time"

	"heddle/mad"
)

func kinds(list []Action) (k []Kind) {
	for _, a := range list {
		k = append(k, a.Kind)
	}
	return k
}

// TestResign: a master that resigns hands over to a standby, or looks for the
// master that there is.
func TestResign(t *testing.T) {
	at := func(d time.Duration) time.Time { return time.Unix(0, 0).Add(d) }
	standby := mad.SMInfo{GUID: other, SMKey: 1, Priority: 3, SMState: mad.SMStandby}
	for _, test := range []struct {
		name     string
		others   []Peer
		handOver bool
		state    mad.SMState
		want     []Kind
	}{
		{"a standby", []Peer{{Port: other, Info: standby, Path: []uint8{1}}}, true, mad.SMStandby, []Kind{Tell, Follow}},
		{"a standby, and another master somewhere", []Peer{{Port: other, Info: standby, Path: []uint8{1}}}, false, mad.SMDiscovering, []Kind{Discover}},
		{"nobody", nil, true, mad.SMDiscovering, []Kind{Discover}},
	} {
		m := in(t, mad.SMMaster, mad.SMInfo{GUID: 0x99, Priority: 9, SMKey: 1})
		m.Swept(at(0), test.others)
		m.Programmed(at(0))
		m.Take()
		if m.HasHeir() != (len(test.others) > 0) {
			t.Errorf("%s: heir %v", test.name, m.HasHeir())
		}
		m.Resign(at(time.Second), "the test", test.handOver)
		if got := m.Take(); m.State() != test.state || !slices.Equal(kinds(got), test.want) {
			t.Errorf("%s: %v, %v, want %v, %v", test.name, m.State(), kinds(got), test.state, test.want)
		}
	}
}

// TestResignedManagerWaits: alone it leads again after a while, which grows; it
// refuses to take over meanwhile.
func TestResignedManagerWaits(t *testing.T) {
	m := in(t, mad.SMMaster, mad.SMInfo{GUID: 0x99, Priority: 9, SMKey: 1})
	now := time.Unix(0, 0)
	for _, hold := range []time.Duration{10 * time.Second, 20 * time.Second, 40 * time.Second} {
		m.Resign(now, "the test", true)
		m.Swept(now, nil)
		master := mad.SMInfo{GUID: other, SMKey: 1, Priority: 1, SMState: mad.SMMaster}
		if status, _ := m.Request(now, Request{Set: true, Control: mad.SMControlHandover, Info: master}); status != Refused {
			t.Errorf("a HANDOVER right after it resigned: status %v", status)
		}
		m.Advance(now.Add(hold - time.Second))
		if m.State() != mad.SMDiscovering {
			t.Errorf("%v before its time", m.State())
		}
		now = now.Add(hold)
		m.Advance(now)
		m.Swept(now, nil)
		if m.State() != mad.SMMaster {
			t.Fatalf("%v after %v", m.State(), hold)
		}
	}
	now = now.Add(2 * time.Minute) // in office for long
	m.Resign(now, "the test", true)
	m.Swept(now, nil)
	m.Advance(now.Add(10 * time.Second))
	if m.Swept(now.Add(10*time.Second), nil); m.State() != mad.SMMaster {
		t.Errorf("%v, and the wait should begin anew", m.State())
	}
}

// TestResignedManagerFollows whoever becomes master, but leads if nobody does.
func TestResignedManagerFollows(t *testing.T) {
	m := in(t, mad.SMMaster, mad.SMInfo{GUID: 0x99, Priority: 9, SMKey: 1})
	now := time.Unix(0, 0)
	worse := mad.SMInfo{GUID: other, SMKey: 1, Priority: 3, SMState: mad.SMStandby}
	m.Resign(now, "the test", false)
	m.Swept(now, []Peer{{Port: other, Info: worse, Path: []uint8{1}}})
	if m.State() != mad.SMStandby {
		t.Fatalf("%v, want standby of the other", m.State())
	}
	for range 4 {
		now = now.Add(time.Second)
		m.Advance(now)
		for _, a := range m.Take() {
			if a.Kind == Ask {
				m.Answered(now, a.ID, mad.StatusOK, worse)
			}
		}
	}
	if m.State() != mad.SMDiscovering {
		t.Fatalf("%v: the other does not become master", m.State())
	}
	if m.Swept(now, []Peer{{Port: other, Info: worse, Path: []uint8{1}}}); m.State() != mad.SMMaster {
		t.Errorf("%v, and there is no master", m.State())
	}
}

package election

import (
	"testing"
	"time"

	"heddle/mad"
)

// TestHandoverWaitsForTheSweep: a master hands over when its first sweep is
// complete, or when that takes too long.
func TestHandoverWaitsForTheSweep(t *testing.T) {
	standby := mad.SMInfo{GUID: other, SMKey: 1, Priority: 9, SMState: mad.SMStandby}
	for _, test := range []struct {
		name string
		at   time.Duration
		do   func(m *Machine, now time.Time)
		want bool
	}{
		{"in the midst of it", 30 * time.Second, (*Machine).Advance, false},
		{"it takes too long", 61 * time.Second, (*Machine).Advance, true},
		{"complete", time.Second, (*Machine).Programmed, true},
	} {
		m := in(t, mad.SMMaster, mad.SMInfo{GUID: 0x99, Priority: 1, SMKey: 1})
		start := time.Unix(0, 0)
		m.Swept(start.Add(time.Millisecond), []Peer{{Port: other, Info: standby, Path: []uint8{1}}})
		test.do(m, start.Add(test.at))
		for _, a := range m.Take() {
			if a.Kind == Ask {
				m.Answered(start.Add(test.at), a.ID, mad.StatusOK, standby)
			}
		}
		handed := false
		for _, o := range m.ops {
			handed = handed || o.control == mad.SMControlHandover
		}
		if handed != test.want {
			t.Errorf("%s: handed over: %v, want %v", test.name, handed, test.want)
		}
	}
}

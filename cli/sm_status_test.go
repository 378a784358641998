package cli

import (
	"encoding/json"
	"errors"
	"regexp"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"heddle/ib"
	"heddle/mad"
	"heddle/sm"
	"heddle/sm/multicast"
	"heddle/sm/replica"
	"heddle/sm/store"

	"github.com/google/go-cmp/cmp"
)

// troubled is a status of a manager with all kinds of trouble.
func troubled(now time.Time) sm.Status {
	silent := []sm.SilentNode{{Node: "leaf-1", Sweeps: 1}, {Node: "leaf-2", Sweeps: 2}, {}, {}, {}, {}, {}}
	return sm.Status{
		Started: now.Add(-time.Hour),
		Managers: []sm.OtherManager{
			{Info: mad.SMInfo{GUID: 0x10, Priority: 3, SMState: mad.SMStandby}, LID: 7, Since: now.Add(-time.Minute), Heard: now.Add(-2 * time.Second), Trusted: true},
			{Info: mad.SMInfo{GUID: 0x11, SMState: mad.SMMaster}, Since: now, Heard: now},
		},
		Replica: &replica.Status{
			ID: 1, Role: replica.Leader, Epoch: 65537, Kept: store.Position{Index: 1234}, Waiting: 2, Degraded: true,
			Peers: []replica.PeerStatus{
				{ID: 3, Heard: now},
				{ID: 2, Epoch: 65537, Fed: true, Lag: 5, LagTime: 1500 * time.Millisecond, Heard: now.Add(-time.Second)},
				{ID: 2, Epoch: 65537, Heard: now.Add(-time.Second)},
			},
		},
		NotKept: errors.New("no space left on device"),
		Last:    sm.SweepStatus{Report: sm.Report{Warnings: []sm.Warning{{Name: sm.UnrankedFabric, Text: "no ranks"}}}},
		Ports: []sm.PortTraps{
			{Node: "leaf-3", LID: 9, Port: 4, Unhealthy: true, Disabled: true, Counts: map[mad.TrapNumber]uint64{mad.TrapLinkIntegrity: 1000, mad.TrapFlowControl: 1}},
			{Node: "host-4"},
		},
		Silent: silent,
		CutOff: []multicast.CutOff{{MLID: ib.FirstMLID, Port: 0x22, Why: "it is not in the fabric"}},
	}
}

func TestTroubleText(t *testing.T) {
	const want = `manager|0x0000000000000010, LID 7, priority 3: Standby for 1m0s, heard of 2s ago
manager|0x0000000000000011, LID 0, priority 0: Master for 0s, heard of 0s ago; not trusted: it has another SM_Key
replica|1, leader in epoch 65537, 1,234 kept, 2 waiting; followers are late, and not waited for
peer|2, follower in epoch 65537: follows, 5 behind, 1.5s; heard of 1s ago
peer|3, follower in epoch 0: connected; heard of 0s ago
state file|NOT KEPT, joins are answered busy: no space left on device
warning|unranked-fabric: no ranks
unhealthy|leaf-3, LID 9, port 4: 1,000 of trap 129 LinkIntegrity, 1 of trap 131 FlowControl; its link was disabled
silent|leaf-1 does not answer, 1 sweep in a row
silent|leaf-2 does not answer, 2 sweeps in a row
silent|does not answer, 0 sweeps in a row
silent|does not answer, 0 sweeps in a row
silent|does not answer, 0 sweeps in a row
silent|and 2 more
cut off|MLID 0xc000: port 0x0000000000000022: it is not in the fabric
`
	now := time.Unix(1e9, 0)
	tell := func(s sm.Status) string {
		told := aligned(func(w *tabwriter.Writer) { troubleText(w, s, now) })
		return regexp.MustCompile("(?m)^(.*?)  +").ReplaceAllString(told, "$1|")
	}
	if diff := cmp.Diff(want, tell(troubled(now))); diff != "" {
		t.Errorf("text (-want +got):\n%s", diff)
	}
	if told := tell(sm.Status{}); told != "" {
		t.Errorf("without trouble: %q", told)
	}
}

func TestTroubleObject(t *testing.T) {
	b, err := json.Marshal(smObject(troubled(time.Unix(1e9, 0).UTC())))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`"managers":[{"guid":"0x0000000000000010","heard":"2001-09-09T01:46:38Z","lid":7,"priority":3,"since":"2001-09-09T01:45:40Z","state":"Standby","trusted":true},`,
		`"notKept":"no space left on device"`, `"warnings":[{"name":"unranked-fabric","text":"no ranks"}]`,
		`"role":"leader"`, `"lag":5,"lagMs":1500`, `"sweeps":1`, `"disabled":true`,
		`"cutOff":["MLID 0xc000: port 0x0000000000000022: it is not in the fabric"]`,
	} {
		if !strings.Contains(string(b), want) {
			t.Errorf("no %s in %s", want, b)
		}
	}
}

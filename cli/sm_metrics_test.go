package cli

import (
	"errors"
	"io"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"heddle/ib"
	"heddle/mad"
	"heddle/sm"
	"heddle/sm/admin"
	"heddle/sm/group"
	"heddle/sm/multicast"
	"heddle/sm/replica"

	"github.com/google/go-cmp/cmp"
)

// TestMetrics scrapes a status in which each number is another.
func TestMetrics(t *testing.T) {
	s := sm.Status{
		Info: mad.SMInfo{SMState: mad.SMStandby}, Nodes: 1, Switches: 2, Links: 3, Sweeps: 4, Batches: 5, Failed: 6,
		Last:  sm.SweepStatus{At: time.Unix(7, 500_000_000), Took: 8 * time.Millisecond, Report: sm.Report{Warnings: []sm.Warning{{Name: sm.Deadlock}}}},
		Asked: 9, Sent: 10, Refused: 11, Unsettled: make([]ib.MLID, 12), MaxEFI: 13, TreeLinks: 14,
		Groups:  group.Stats{Members: 15, MLIDs: 16, Shared: 17, Retiring: 18},
		ByState: map[group.State]int{0: 19, group.Ready: 20},
		Stages:  sm.Stages{Routing: 25 * time.Second, Planning: 26 * time.Second, Reading: 27 * time.Second, Ahead: 28 * time.Second, Writing: 29 * time.Second},
		Sharing: 25,
		Started: time.Unix(26, 0), NotKept: errors.New("disk is full"),
		Managers: []sm.OtherManager{{Info: mad.SMInfo{SMState: mad.SMStandby}}},
		Silent:   make([]sm.SilentNode, 27), CutOff: make([]multicast.CutOff, 28),
		Ports:   []sm.PortTraps{{Unhealthy: true}, {}, {Disabled: true}},
		Traps:   map[mad.TrapNumber]uint64{mad.TrapLinkIntegrity: 29, 0: 30},
		Replica: &replica.Status{Role: replica.Leader, Peers: []replica.PeerStatus{{ID: 2}, {ID: 2, Fed: true, Lag: 31}, {ID: 3}}},
		SA:      admin.Stats{Answered: 21, Refused: 45, Busy: 23, Silent: 24},
	}
	want := `heddle_sm_batches_total 5
heddle_sm_cut_off_members 28
heddle_sm_efi_max 13
heddle_sm_groups{state="ComputingRoutes"} 0
heddle_sm_groups{state="Destroying"} 0
heddle_sm_groups{state="Ready"} 20
heddle_sm_groups{state="ReceivingJoinReq"} 0
heddle_sm_groups{state="ReceivingLeaveReq"} 0
heddle_sm_groups{state="plain"} 19
heddle_sm_groups_sharing 25
heddle_sm_info{version="VERSION"} 1
heddle_sm_last_sweep_seconds 0.008
heddle_sm_last_sweep_timestamp_seconds 7.5
heddle_sm_links 3
heddle_sm_members 15
heddle_sm_mlids{use="retiring"} 18
heddle_sm_mlids{use="shared"} 17
heddle_sm_mlids{use="unsettled"} 12
heddle_sm_mlids{use="used"} 16
heddle_sm_nodes 1
heddle_sm_other_managers{state="Discovering"} 0
heddle_sm_other_managers{state="Master"} 0
heddle_sm_other_managers{state="NotActive"} 0
heddle_sm_other_managers{state="Standby"} 1
heddle_sm_replica_lag_batches{peer="2"} 31
heddle_sm_replica_leader 1
heddle_sm_requests_total{result="answered"} 21
heddle_sm_requests_total{result="busy"} 23
heddle_sm_requests_total{result="refused"} 22
heddle_sm_requests_total{result="silent"} 24
heddle_sm_silent_nodes 27
heddle_sm_smps_total{kind="asked"} 9
heddle_sm_smps_total{kind="failed"} 11
heddle_sm_smps_total{kind="sent"} 10
heddle_sm_stage_seconds_total{stage="ahead"} 28
heddle_sm_stage_seconds_total{stage="planning"} 26
heddle_sm_stage_seconds_total{stage="reading"} 27
heddle_sm_stage_seconds_total{stage="routing"} 25
heddle_sm_stage_seconds_total{stage="writing"} 29
heddle_sm_start_timestamp_seconds 26
heddle_sm_state{state="Discovering"} 0
heddle_sm_state{state="Master"} 0
heddle_sm_state{state="NotActive"} 0
heddle_sm_state{state="Standby"} 1
heddle_sm_state_kept 0
heddle_sm_sweeps_failed_total 6
heddle_sm_sweeps_total 4
heddle_sm_switches 2
heddle_sm_traps_total{trap="0"} 30
heddle_sm_traps_total{trap="129"} 29
heddle_sm_tree_links 14
heddle_sm_unhealthy_ports 2
heddle_sm_warnings{warning="deadlock"} 1
heddle_sm_warnings{warning="engine-failed"} 0
heddle_sm_warnings{warning="state-not-kept"} 0
heddle_sm_warnings{warning="unranked-fabric"} 0
`
	want = strings.Replace(want, "VERSION", version(), 1)
	server := httptest.NewServer(metricsHandler(func() sm.Status { return s }))
	defer server.Close()
	answer, err := server.Client().Get(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "heddle_") {
			got.WriteString(line)
		}
	}
	if diff := cmp.Diff(want, got.String()); diff != "" {
		t.Errorf("metrics (-want +got):\n%s", diff)
	}
	if !strings.Contains(string(text), "\nprocess_") || !strings.Contains(string(text), "\ngo_") {
		t.Error("no metrics of the process")
	}
}

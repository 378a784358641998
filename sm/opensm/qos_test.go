package opensm

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"heddle/mad"
	"heddle/sm/plan"
)

// TestQoSRules: what a kind of port does not say is that of all, then OpenSM's.
func TestQoSRules(t *testing.T) {
	c, report := readConfig(t, `qos TRUE
qos_max_vls 4
qos_high_limit -1
qos_vlarb_high 0:64,1:0
qos_sl2vl 0,1,2,3,0,1,2,3,0,1,2,3,0,1,2,15
qos_ca_max_vls 2
qos_ca_sl2vl 1,0,
qos_swe_high_limit 255
qos_swe_vlarb_low 3:1, 2:2
qos_rtr_vlarb_low (null)`)
	if len(report.Faults)+len(report.Unsupported)+len(report.Unknown) > 0 {
		t.Fatalf("%+v", report)
	}
	all := plan.DefaultQoSRules().Adapter
	all.MaxVLs, all.High = 4, []mad.VLWeight{{VL: 0, Weight: 64}, {VL: 1}}
	all.SLtoVL = mad.SLtoVLMapping{0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 15}
	want := &plan.QoSRules{Adapter: all, External: all, Port0: all, Router: all}
	want.Adapter.MaxVLs, want.Adapter.SLtoVL[0], want.Adapter.SLtoVL[1] = 2, 1, 0
	want.External.HighLimit, want.External.Low = 255, []mad.VLWeight{{VL: 3, Weight: 1}, {VL: 2, Weight: 2}}
	if diff := cmp.Diff(want, c.QoSKinds.Rules()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(plan.DefaultQoSRules(), DefaultConfig().QoSKinds.Rules()); diff != "" {
		t.Errorf("nothing said (-want +got):\n%s", diff)
	}
}

// TestQoSFaults: a value that cannot be is named, and changes nothing.
func TestQoSFaults(t *testing.T) {
	for line, want := range map[string]string{
		"qos_max_vls 16":                                      `o.conf:1: qos_max_vls "16": want a number from 0 to 15`,
		"qos_ca_high_limit 256":                               `o.conf:1: qos_ca_high_limit "256": want a number from -1 to 255`,
		"qos_sw0_vlarb_high 15:1":                             `o.conf:1: qos_sw0_vlarb_high "15:1": "15:1": want a lane from 0 to 14, and after a colon a weight up to 255`,
		"qos_swe_vlarb_low 1:2,3":                             `o.conf:1: qos_swe_vlarb_low "1:2,3": "3": want a lane from 0 to 14, and after a colon a weight up to 255`,
		"qos_rtr_sl2vl 0,16":                                  `o.conf:1: qos_rtr_sl2vl "0,16": "16": want a lane from 0 to 15`,
		"qos_sl2vl 0,,1":                                      `o.conf:1: qos_sl2vl "0,,1": "": want a lane from 0 to 15`,
		"qos_sl2vl 0" + strings.Repeat(",0", 16):              `o.conf:1: qos_sl2vl "0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0": 17 lanes: want up to 16`,
		"qos_vlarb_low 0" + strings.Repeat(":1,0", 64) + ":1": `o.conf:1: qos_vlarb_low "` + strings.Repeat("0:1,", 16) + `"...: 65 entries: want up to 64`,
	} {
		c, report := readConfig(t, line)
		if len(report.Faults) != 1 || report.Faults[0].Error() != want {
			t.Errorf("%v, want %s", report.Faults, want)
		}
		if diff := cmp.Diff(DefaultConfig(), c); diff != "" {
			t.Errorf("%s (-want +got):\n%s", line, diff)
		}
	}
}

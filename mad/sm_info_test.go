package mad

import (
	"fmt"
	"strings"
	"testing"
)

// diags has no SM_Key: sminfo does not show it.
func (i SMInfo) diags() []string {
	return []string{fmt.Sprintf("sminfo: sm lid 1 sm guid %#x, activity count %d priority %d state %d SMINFO_%s",
		uint64(i.GUID), i.ActCount, i.Priority, uint8(i.SMState), strings.ToUpper(i.SMState.String()))}
}

func TestSMStateString(t *testing.T) {
	checkStrings(t, []SMState{SMNotActive, SMDiscovering, SMStandby, SMMaster, 4},
		"NotActive", "Discovering", "Standby", "Master", "SMState(4)")
}

func TestSMControlString(t *testing.T) {
	checkStrings(t, []SMControl{0, SMControlHandover, SMControlAcknowledge, SMControlDisable, SMControlStandby, SMControlDiscover, 6},
		"SMControl(0)", "Handover", "Acknowledge", "Disable", "Standby", "Discover", "SMControl(6)")
}

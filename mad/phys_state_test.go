package mad

import "testing"

func TestPhysStateString(t *testing.T) {
	checkStrings(t, []PhysState{
		PhysNoChange, PhysSleep, PhysPolling, PhysDisabled, PhysPortConfigurationTraining, PhysLinkUp, PhysLinkErrorRecovery, PhysTest, 8,
	}, "NoChange", "Sleep", "Polling", "Disabled", "PortConfigurationTraining", "LinkUp", "LinkErrorRecovery", "PhyTest", "PhysState(8)")
}

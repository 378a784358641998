package mad

import (
	"fmt"
	"testing"
)

func (i NodeInfo) diags() []string {
	return []string{
		field("BaseVers", i.BaseVersion),
		field("ClassVers", i.ClassVersion),
		field("NodeType", map[NodeType]string{NodeCA: "Channel Adapter", NodeSwitch: "Switch", NodeRouter: "Router"}[i.NodeType]),
		field("NumPorts", i.NumPorts),
		field("SystemGuid", i.SystemImageGUID),
		field("Guid", i.NodeGUID),
		field("PortGuid", i.PortGUID),
		field("PartCap", i.PartitionCap),
		field("DevId", fmt.Sprintf("%#04x", i.DeviceID)),
		field("Revision", fmt.Sprintf("%#08x", i.Revision)),
		field("LocalPort", i.LocalPortNum),
		field("VendorId", fmt.Sprintf("%#06x", i.VendorID)),
	}
}

func TestNodeTypeString(t *testing.T) {
	checkStrings(t, []NodeType{0, NodeCA, NodeSwitch, NodeRouter, 4}, "NodeType(0)", "CA", "Switch", "Router", "NodeType(4)")
}

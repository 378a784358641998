package mad

import (
	"fmt"
	"testing"
)

func (r NodeRecord) saquery() []string {
	kind := r.Info.NodeType.String()
	if r.Info.NodeType == NodeCA {
		kind = "Channel Adapter"
	}
	return []string{
		"NodeRecord dump:", line("lid", r.LID), "reserved 0x0",
		hexLine("base_version", r.Info.BaseVersion), hexLine("class_version", r.Info.ClassVersion),
		line("node_type", kind), line("num_ports", r.Info.NumPorts),
		line("sys_guid", r.Info.SystemImageGUID), line("node_guid", r.Info.NodeGUID), line("port_guid", r.Info.PortGUID),
		hexLine("partition_cap", r.Info.PartitionCap), hexLine("device_id", r.Info.DeviceID),
		hexLine("revision", r.Info.Revision), line("port_num", r.Info.LocalPortNum),
		hexLine("vendor_id", r.Info.VendorID), line("NodeDescription", fmt.Sprint(r.Description)),
	}
}

func TestNodeRecord(t *testing.T) {
	hca2 := NodeRecord{
		LID: 4,
		Info: NodeInfo{
			BaseVersion: 1, ClassVersion: 1, NodeType: NodeCA, NumPorts: 2,
			SystemImageGUID: 0x100003, NodeGUID: 0x100003, PortGUID: 0x100004,
			PartitionCap: 64, Revision: 0xA1, LocalPortNum: 1,
		},
		Description: NewNodeDescription("Hca2"),
	}
	other := hca2
	other.LID = 5
	checkRecorded(t, "node_record.hex", ParseNodeRecord, NodeRecordLID, NodeRecord{LID: 4}, other, hca2)
}

package mad

import "heddle/ib"

// NodeRecord is a node, as one of its ports sees it (IBTA 1, 15.2.5.2).
type NodeRecord struct {
	LID         ib.LID // of the port
	Info        NodeInfo
	Description NodeDescription
}

// The components of a NodeRecord.
const (
	NodeRecordLID ComponentMask = 1 << iota
	_
	NodeRecordBaseVersion
	NodeRecordClassVersion
	NodeRecordNodeType
	NodeRecordNumPorts
	NodeRecordSystemImageGUID
	NodeRecordNodeGUID
	NodeRecordPortGUID
	NodeRecordPartitionCap
	NodeRecordDeviceID
	NodeRecordRevision
	NodeRecordLocalPortNum
	NodeRecordVendorID
	NodeRecordNodeDescription
)

var nodeRecordLayout = []Field{
	{Name: "LID", Bits: 16},
	{Bits: 16},
	{Name: "BaseVersion", Bits: 8},
	{Name: "ClassVersion", Bits: 8},
	{Name: "NodeType", Bits: 8},
	{Name: "NumPorts", Bits: 8},
	{Name: "SystemImageGUID", Bits: 64},
	{Name: "NodeGUID", Bits: 64},
	{Name: "PortGUID", Bits: 64},
	{Name: "PartitionCap", Bits: 16},
	{Name: "DeviceID", Bits: 16},
	{Name: "Revision", Bits: 32},
	{Name: "LocalPortNum", Bits: 8},
	{Name: "VendorID", Bits: 24},
	{Name: "NodeDescription", Bits: 512},
}

const nodeRecordLen = 108

// ParseNodeRecord reads the 108 bytes at the start of b.
func ParseNodeRecord(b []byte) (NodeRecord, error) {
	if err := need("NodeRecord", b, nodeRecordLen); err != nil {
		return NodeRecord{}, err
	}
	info, err := ParseNodeInfo(b[4:])
	if err != nil {
		return NodeRecord{}, err
	}
	return NodeRecord{LID: ib.LID(be.Uint16(b)), Info: info, Description: NodeDescription(b[44:nodeRecordLen])}, nil
}

// AttrID is AttrNodeRecord.
func (NodeRecord) AttrID() AttrID { return AttrNodeRecord }

// Len is 108.
func (NodeRecord) Len() int { return nodeRecordLen }

// AppendTo appends the 108 bytes.
func (r NodeRecord) AppendTo(b []byte) []byte {
	b = be.AppendUint16(b, uint16(r.LID))
	b = append(b, 0, 0)
	b = r.Info.AppendTo(b)
	return r.Description.AppendTo(b)
}

package mad

import (
	"fmt"

	"heddle/ib"
)

// NodeType is what kind of node answers (IBTA 1, 14.2.5.3).
type NodeType uint8

// The kinds of nodes.
const (
	NodeCA NodeType = 1 + iota
	NodeSwitch
	NodeRouter
)

// String names the kind.
func (t NodeType) String() string {
	switch t {
	case NodeCA:
		return "CA"
	case NodeSwitch:
		return "Switch"
	case NodeRouter:
		return "Router"
	default:
		return fmt.Sprintf("NodeType(%d)", uint8(t))
	}
}

// NodeInfo is what a node is (IBTA 1, 14.2.5.3). LocalPortNum is the port that
// the request came in by, and PortGUID that port's, of a switch that of port 0.
type NodeInfo struct {
	BaseVersion     uint8
	ClassVersion    uint8
	NodeType        NodeType
	NumPorts        uint8 // physical ones: without port 0 of a switch
	SystemImageGUID ib.GUID
	NodeGUID        ib.GUID
	PortGUID        ib.GUID
	PartitionCap    uint16 // entries of the P_Key table of an adapter's port, or of port 0
	DeviceID        uint16
	Revision        uint32
	LocalPortNum    uint8
	VendorID        uint32 // 24 bits, an OUI
}

const nodeInfoLen = 40

// ParseNodeInfo reads the 40 bytes at the start of b.
func ParseNodeInfo(b []byte) (NodeInfo, error) {
	if err := need("NodeInfo", b, nodeInfoLen); err != nil {
		return NodeInfo{}, err
	}
	return NodeInfo{
		BaseVersion: b[0], ClassVersion: b[1], NodeType: NodeType(b[2]), NumPorts: b[3],
		SystemImageGUID: ib.GUID(be.Uint64(b[4:])),
		NodeGUID:        ib.GUID(be.Uint64(b[12:])),
		PortGUID:        ib.GUID(be.Uint64(b[20:])),
		PartitionCap:    be.Uint16(b[28:]),
		DeviceID:        be.Uint16(b[30:]),
		Revision:        be.Uint32(b[32:]),
		LocalPortNum:    b[36],
		VendorID:        uint24(b[37:]),
	}, nil
}

// Len is 40.
func (i NodeInfo) Len() int { return nodeInfoLen }

// AppendTo appends the 40 bytes.
func (i NodeInfo) AppendTo(b []byte) []byte {
	b, p := grow(b, nodeInfoLen)
	p[0], p[1], p[2], p[3] = i.BaseVersion, i.ClassVersion, byte(i.NodeType), i.NumPorts
	be.PutUint64(p[4:], uint64(i.SystemImageGUID))
	be.PutUint64(p[12:], uint64(i.NodeGUID))
	be.PutUint64(p[20:], uint64(i.PortGUID))
	be.PutUint16(p[28:], i.PartitionCap)
	be.PutUint16(p[30:], i.DeviceID)
	be.PutUint32(p[32:], i.Revision)
	p[36] = i.LocalPortNum
	putUint24(p[37:], i.VendorID)
	return b
}

package ibsim

import (
	"bytes"
	"encoding/binary"

	"heddle/ib"
	"heddle/mad"
)

// need tells of a body that is shorter than n bytes.
func need(what string, b []byte, n int) error {
	if len(b) < n {
		return malformed("%s of %d bytes, want %d", what, len(b), n)
	}
	return nil
}

// MaxNode is the length in bytes of the longest name of a node in a Connect.
const MaxNode = 31

const connectLen = 44

// Connect asks for a place at a node. The answer has the number of the client
// in ID, and in Node the ID of the node.
type Connect struct {
	// ID names the data socket of the client: the number in its name, or its
	// UDP port. Umad2sim takes the process ID. Not 0, below 2^31.
	ID uint32
	// QP is the queue pair whose datagrams the client gets, where it is above
	// 1; those for 0 and 1 go to the client that is the subnet manager.
	QP ib.QPN
	// IsSM claims the port for a subnet manager; a second claim fails.
	IsSM bool
	// Node is the ID of a node or its description, of at most MaxNode bytes;
	// the first node of the subnet where it is empty.
	Node string
}

// Len is 44.
func (Connect) Len() int { return connectLen }

// AppendTo appends the body; a longer Node is cut.
func (c Connect) AppendTo(b []byte) []byte {
	b = host.AppendUint32(b, c.ID)
	b = host.AppendUint32(b, uint32(c.QP))
	b = host.AppendUint32(b, flag(c.IsSM))
	var node [MaxNode + 1]byte
	copy(node[:MaxNode], c.Node)
	return append(b, node[:]...)
}

// ParseConnect reads a Connect.
func ParseConnect(b []byte) (Connect, error) {
	if err := need("CONNECT", b, connectLen); err != nil {
		return Connect{}, err
	}
	node, _, _ := bytes.Cut(b[12:connectLen-1], []byte{0})
	return Connect{
		ID: host.Uint32(b), QP: ib.QPN(host.Uint32(b[4:])),
		IsSM: host.Uint32(b[8:]) != 0, Node: string(node),
	}, nil
}

func flag(on bool) uint32 {
	if on {
		return 1
	}
	return 0
}

const portLen = 4

// Port is what the server knows of the client's port.
type Port struct {
	LID   ib.LID
	State mad.PortState
}

// Len is 4: the last byte is padding.
func (Port) Len() int { return portLen }

// AppendTo appends the body.
func (p Port) AppendTo(b []byte) []byte {
	return append(host.AppendUint16(b, uint16(p.LID)), byte(p.State), 0)
}

// ParsePort reads a Port.
func ParsePort(b []byte) (Port, error) {
	if err := need("GET_PORT", b, portLen); err != nil {
		return Port{}, err
	}
	return Port{LID: ib.LID(host.Uint16(b)), State: mad.PortState(b[2])}, nil
}

const vendorLen = 24

// Vendor tells who made the client's node.
type Vendor struct {
	ID, Part, Hardware uint32
	Firmware           uint64
}

// Len is 24.
func (Vendor) Len() int { return vendorLen }

// AppendTo appends the body; 4 bytes before the firmware are padding.
func (v Vendor) AppendTo(b []byte) []byte {
	b = host.AppendUint32(b, v.ID)
	b = host.AppendUint32(b, v.Part)
	b = host.AppendUint32(b, v.Hardware)
	b = host.AppendUint32(b, 0)
	return host.AppendUint64(b, v.Firmware)
}

// ParseVendor reads a Vendor.
func ParseVendor(b []byte) (Vendor, error) {
	if err := need("GET_VENDOR", b, vendorLen); err != nil {
		return Vendor{}, err
	}
	return Vendor{
		ID: host.Uint32(b), Part: host.Uint32(b[4:]), Hardware: host.Uint32(b[8:]),
		Firmware: host.Uint64(b[16:]),
	}, nil
}

const gidLen = 16

// GID is the client's first GID. On the wire the prefix is in the byte order
// of the network and the GUID in that of the host; ibsim gives the GUID of the
// node instead of the port's.
type GID struct{ ib.GID }

// Len is 16.
func (GID) Len() int { return gidLen }

// AppendTo appends the body.
func (g GID) AppendTo(b []byte) []byte {
	b = binary.BigEndian.AppendUint64(b, g.Prefix())
	return host.AppendUint64(b, uint64(g.GUID()))
}

// ParseGID reads a GID.
func ParseGID(b []byte) (GID, error) {
	if err := need("GET_GID", b, gidLen); err != nil {
		return GID{}, err
	}
	return GID{ib.NewGID(binary.BigEndian.Uint64(b), ib.GUID(host.Uint64(b[8:])))}, nil
}

const guidLen = 8

// GUID is that of the client's node, in the byte order of the host.
type GUID ib.GUID

// Len is 8.
func (GUID) Len() int { return guidLen }

// AppendTo appends the body.
func (g GUID) AppendTo(b []byte) []byte { return host.AppendUint64(b, uint64(g)) }

// ParseGUID reads a GUID.
func ParseGUID(b []byte) (GUID, error) {
	if err := need("GET_GUID", b, guidLen); err != nil {
		return 0, err
	}
	return GUID(host.Uint64(b)), nil
}

// PortNumber asks for the PortInfo of one port of the client's node; 0 is the
// port that the client sits at.
type PortNumber uint8

// Len is 1.
func (PortNumber) Len() int { return 1 }

// AppendTo appends the body.
func (n PortNumber) AppendTo(b []byte) []byte { return append(b, byte(n)) }

// ParsePortNumber reads a PortNumber.
func ParsePortNumber(b []byte) (PortNumber, error) {
	if err := need("GET_PORTINFO", b, 1); err != nil {
		return 0, err
	}
	return PortNumber(b[0]), nil
}

const isSMLen = 4

// IsSM says that the client is, or no longer is, the subnet manager at its
// port. It gets the requests to queue pairs 0 and 1 that the node's own agents
// do not answer.
type IsSM bool

// Len is 4.
func (IsSM) Len() int { return isSMLen }

// AppendTo appends the body.
func (s IsSM) AppendTo(b []byte) []byte { return host.AppendUint32(b, flag(bool(s))) }

// ParseIsSM reads an IsSM.
func ParseIsSM(b []byte) (IsSM, error) {
	if err := need("SET_ISSM", b, isSMLen); err != nil {
		return false, err
	}
	return host.Uint32(b) != 0, nil
}

// maxPKeys is the number of P_Keys that fit.
const maxPKeys = ControlDataSize / 2

// PKeys is the P_Key table of the client's port up to the last entry that is
// used: at most 32, in the byte order of the network.
type PKeys []ib.PKey

// Len is 2 bytes for each.
func (p PKeys) Len() int { return 2 * min(len(p), maxPKeys) }

// AppendTo appends the body; what is beyond 32 is left out.
func (p PKeys) AppendTo(b []byte) []byte {
	for _, key := range p[:min(len(p), maxPKeys)] {
		b = binary.BigEndian.AppendUint16(b, uint16(key))
	}
	return b
}

// ParsePKeys reads a table; all data that is not whole entries is refused.
func ParsePKeys(b []byte) (PKeys, error) {
	if len(b)%2 != 0 || len(b) > ControlDataSize {
		return nil, malformed("GET_PKEYS of %d bytes, want up to %d entries of 2", len(b), maxPKeys)
	}
	keys := PKeys{}
	for ; len(b) > 0; b = b[2:] {
		keys = append(keys, ib.PKey(binary.BigEndian.Uint16(b)))
	}
	for len(keys) > 0 && keys[len(keys)-1] == 0 {
		keys = keys[:len(keys)-1]
	}
	return keys, nil
}

package verbs

import (
	"encoding/binary"
	"fmt"

	"heddle/ib"
)

// EndpointAttr is what a peer has to know of a QP on an adapter's kind of network,
// InfiniBand or RoCE. The Endpoint of such a QP is its encoding, of adapters (ibv)
// and of software (soft) alike, so that they connect with each other. Programs need
// it only to speak to others that tell such things in a way of their own.
type EndpointAttr struct {
	Type    QPType
	Link    LinkLayer // LinkInfiniBand or LinkEthernet
	MTU     ib.MTU
	Reads   uint8 // READs and atomics that the QP answers at once
	GIDType GIDType
	LID     ib.LID // 0 on Ethernet
	// Port is the UDP port of RoCEv2 that the QP is reached at; 0 is 4791, as all
	// adapters have it.
	Port uint16
	QPN  ib.QPN
	PSN  uint32 // of its first request, 24 bits
	QKey ib.QKey
	GID  ib.GID
}

// endpointMagic tells encodings of this version from all else.
const endpointMagic = "ibe\x01"

const endpointLen = len(endpointMagic) + 5 + 2*2 + 3*4 + 16

const maxPSN = 1<<24 - 1

// Encode gives it as peers carry it: magic, and then all fields in this order,
// without gaps.
func (e *EndpointAttr) Encode() []byte {
	b := append(make([]byte, 0, endpointLen), endpointMagic...)
	b = append(b, byte(e.Type), byte(e.Link), byte(e.MTU), e.Reads, byte(e.GIDType))
	b = binary.BigEndian.AppendUint16(b, uint16(e.LID))
	b = binary.BigEndian.AppendUint16(b, e.Port)
	b = binary.BigEndian.AppendUint32(b, uint32(e.QPN))
	b = binary.BigEndian.AppendUint32(b, e.PSN)
	b = binary.BigEndian.AppendUint32(b, uint32(e.QKey))
	return append(b, e.GID[:]...)
}

// ParseEndpoint decodes what a peer sent. The error wraps ErrInvalid.
func ParseEndpoint(b []byte) (EndpointAttr, error) {
	if len(b) != endpointLen || string(b[:len(endpointMagic)]) != endpointMagic {
		return EndpointAttr{}, fmt.Errorf("%d bytes that are no endpoint of InfiniBand or RoCE: %w", len(b), ErrInvalid)
	}
	e := EndpointAttr{
		Type: QPType(b[4]), Link: LinkLayer(b[5]), MTU: ib.MTU(b[6]), Reads: b[7], GIDType: GIDType(b[8]),
		LID:  ib.LID(binary.BigEndian.Uint16(b[9:])),
		Port: binary.BigEndian.Uint16(b[11:]),
		QPN:  ib.QPN(binary.BigEndian.Uint32(b[13:])),
		PSN:  binary.BigEndian.Uint32(b[17:]),
		QKey: ib.QKey(binary.BigEndian.Uint32(b[21:])),
		GID:  ib.GID(b[25:]),
	}
	if what := e.fault(); what != "" {
		return EndpointAttr{}, fmt.Errorf("endpoint: %s: %w", what, ErrInvalid)
	}
	return e, nil
}

// fault names the first field that makes no sense.
func (e *EndpointAttr) fault() string {
	switch {
	case e.Type < RC || e.Type > UD:
		return "the service"
	case e.Link != LinkInfiniBand && e.Link != LinkEthernet:
		return "the link layer"
	case !e.MTU.IsValid():
		return "the MTU"
	case e.GIDType > GIDRoCEv2:
		return "the type of the GID"
	case !e.QPN.IsValid() || e.PSN > maxPSN:
		return "the number of the QP or of its first packet"
	case e.Link == LinkEthernet && !e.GID.IsValid(), e.GID.IsMulticast():
		return "the GID"
	}
	return ""
}

package ibv

import (
	"encoding/binary"
	"fmt"

	"heddle/ib"
	"heddle/verbs"
)

// endpoint is what a QP's peer has to know of it. On the wire it is magic, and
// then all fields in this order, without gaps.
type endpoint struct {
	Type    verbs.QPType
	Link    verbs.LinkLayer
	MTU     ib.MTU
	Reads   uint8 // that the QP answers at once
	GIDType verbs.GIDType
	LID     ib.LID
	QPN     ib.QPN
	PSN     uint32 // of its first request
	QKey    ib.QKey
	GID     ib.GID
}

// endpointMagic tells our endpoints of this version from all else.
const endpointMagic = "ibv\x01"

const endpointLen = len(endpointMagic) + 5 + 2 + 3*4 + 16

const maxPSN = 1<<24 - 1

// encode gives it as peers carry it.
func (e *endpoint) encode() []byte {
	b := append(make([]byte, 0, endpointLen), endpointMagic...)
	b = append(b, byte(e.Type), byte(e.Link), byte(e.MTU), e.Reads, byte(e.GIDType))
	b = binary.BigEndian.AppendUint16(b, uint16(e.LID))
	b = binary.BigEndian.AppendUint32(b, uint32(e.QPN))
	b = binary.BigEndian.AppendUint32(b, e.PSN)
	b = binary.BigEndian.AppendUint32(b, uint32(e.QKey))
	return append(b, e.GID[:]...)
}

// parseEndpoint decodes what a peer sent. The error wraps verbs.ErrInvalid.
func parseEndpoint(b []byte) (endpoint, error) {
	if len(b) != endpointLen || string(b[:4]) != endpointMagic {
		return endpoint{}, fmt.Errorf("%d bytes that are no endpoint of an ibv device: %w", len(b), verbs.ErrInvalid)
	}
	e := endpoint{
		Type: verbs.QPType(b[4]), Link: verbs.LinkLayer(b[5]), MTU: ib.MTU(b[6]), Reads: b[7], GIDType: verbs.GIDType(b[8]),
		LID:  ib.LID(binary.BigEndian.Uint16(b[9:])),
		QPN:  ib.QPN(binary.BigEndian.Uint32(b[11:])),
		PSN:  binary.BigEndian.Uint32(b[15:]),
		QKey: ib.QKey(binary.BigEndian.Uint32(b[19:])),
		GID:  ib.GID(b[23:]),
	}
	if what := e.fault(); what != "" {
		return endpoint{}, fmt.Errorf("endpoint of an ibv device: %s: %w", what, verbs.ErrInvalid)
	}
	return e, nil
}

// fault names the first field that makes no sense.
func (e *endpoint) fault() string {
	switch {
	case e.Type < verbs.RC || e.Type > verbs.UD:
		return "the service"
	case e.Link != verbs.LinkInfiniBand && e.Link != verbs.LinkEthernet:
		return "the link layer"
	case !e.MTU.IsValid():
		return "the MTU"
	case e.GIDType > verbs.GIDRoCEv2:
		return "the type of the GID"
	case !e.QPN.IsValid() || e.PSN > maxPSN:
		return "the number of the QP or of its first packet"
	case e.Link == verbs.LinkEthernet && !e.GID.IsValid(), e.GID.IsMulticast():
		return "the GID"
	}
	return ""
}

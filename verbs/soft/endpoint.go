package soft

import (
	"encoding/binary"
	"fmt"

	"heddle/ib"
	"heddle/verbs"
)

// endpoint is what a peer has to know of a QP.
type endpoint struct {
	service verbs.QPType
	layer   verbs.LinkLayer
	mtu     ib.MTU
	reads   uint8
	qpn     ib.QPN
	psn     uint32
	qkey    ib.QKey
	lid     ib.LID
	port    uint16
	gid     ib.GID
}

const (
	endpointMagic = 0x68736f31 // "hso1"
	endpointSize  = 4 + 4 + 3*4 + 2*2 + 16
)

func (e *endpoint) bytes() []byte {
	b := binary.BigEndian.AppendUint32(make([]byte, 0, endpointSize), endpointMagic)
	b = append(b, byte(e.service), byte(e.layer), byte(e.mtu), e.reads)
	b = binary.BigEndian.AppendUint32(b, uint32(e.qpn))
	b = binary.BigEndian.AppendUint32(b, e.psn)
	b = binary.BigEndian.AppendUint32(b, uint32(e.qkey))
	b = binary.BigEndian.AppendUint16(b, uint16(e.lid))
	b = binary.BigEndian.AppendUint16(b, e.port)
	return append(b, e.gid[:]...)
}

// parseEndpoint reads the words of a QP of a service, on a link of a layer. Its
// errors wrap ErrInvalid.
func parseEndpoint(b []byte, service verbs.QPType, layer verbs.LinkLayer) (e endpoint, err error) {
	if len(b) != endpointSize {
		return e, fmt.Errorf("an endpoint of %d bytes, and not %d: %w", len(b), endpointSize, verbs.ErrInvalid)
	}
	be := binary.BigEndian
	if be.Uint32(b) != endpointMagic {
		return e, fmt.Errorf("no endpoint of a software device: %w", verbs.ErrInvalid)
	}
	e = endpoint{
		service: verbs.QPType(b[4]), layer: verbs.LinkLayer(b[5]), mtu: ib.MTU(b[6]), reads: b[7],
		qpn: ib.QPN(be.Uint32(b[8:])), psn: be.Uint32(b[12:]), qkey: ib.QKey(be.Uint32(b[16:])),
		lid: ib.LID(be.Uint16(b[20:])), port: be.Uint16(b[22:]), gid: ib.GID(b[24:40]),
	}
	switch {
	case e.service != service:
		return e, fmt.Errorf("an endpoint of service %v, and not %v: %w", e.service, service, verbs.ErrInvalid)
	case e.layer != layer:
		return e, fmt.Errorf("an endpoint on another kind of link: %w", verbs.ErrInvalid)
	case !e.mtu.IsValid() || !e.qpn.IsValid() || e.psn > 0xff_ffff || !e.gid.IsValid() && e.lid == 0:
		return e, fmt.Errorf("an endpoint with impossible values: %w", verbs.ErrInvalid)
	}
	return e, nil
}

// path leads to it from a link.
func (e *endpoint) path(from *LinkAttr) Path {
	p := Path{LID: uint16(e.lid), Port: e.port, Hops: 64}
	if from.Layer == verbs.LinkInfiniBand && e.lid != 0 {
		return p
	}
	p.Remote = e.gid
	if len(from.GIDs) > 0 {
		p.Local = from.GIDs[0].GID
	}
	return p
}

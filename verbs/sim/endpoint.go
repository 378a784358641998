package sim

import (
	"encoding/binary"
	"fmt"

	"heddle/ib"
	"heddle/verbs"
)

// endpoint is what a peer has to know of a QP.
type endpoint struct {
	network uint64 // which it is, of those in the process
	device  uint32
	qpn     ib.QPN
	qkey    ib.QKey
	service verbs.QPType
	mtu     ib.MTU
	reads   uint8
}

const endpointSize = 8 + 3*4 + 3

func (e *endpoint) bytes() []byte {
	b := binary.BigEndian.AppendUint64(make([]byte, 0, endpointSize), e.network)
	b = binary.BigEndian.AppendUint32(b, e.device)
	b = binary.BigEndian.AppendUint32(b, uint32(e.qpn))
	b = binary.BigEndian.AppendUint32(b, uint32(e.qkey))
	return append(b, byte(e.service), byte(e.mtu), e.reads)
}

func parseEndpoint(b []byte) (e endpoint, err error) {
	if len(b) != endpointSize {
		return e, fmt.Errorf("an endpoint of %d bytes, and not %d: %w", len(b), endpointSize, verbs.ErrInvalid)
	}
	e = endpoint{
		network: binary.BigEndian.Uint64(b), device: binary.BigEndian.Uint32(b[8:]),
		qpn: ib.QPN(binary.BigEndian.Uint32(b[12:])), qkey: ib.QKey(binary.BigEndian.Uint32(b[16:])),
		service: verbs.QPType(b[20]), mtu: ib.MTU(b[21]), reads: b[22],
	}
	if e.service < verbs.RC || e.service > verbs.UD || !e.mtu.IsValid() {
		return endpoint{}, fmt.Errorf("an endpoint of service %v and MTU %v: %w", e.service, e.mtu, verbs.ErrInvalid)
	}
	return e, nil
}

// device is the one of a number, nil for none.
func (n *Network) device(number uint32) *Device {
	if number == 0 || int(number) > len(n.devices) {
		return nil
	}
	return n.devices[number-1]
}

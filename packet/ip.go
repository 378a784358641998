package packet

import (
	"encoding/binary"
	"net/netip"
)

// Sizes of the headers of RoCEv2 in bytes; IPv4 has no options.
const (
	EthernetSize = 14
	IPv4Size     = 20
	IPv6Size     = 40
	UDPSize      = 8
)

const protocolUDP = 17

// EtherType is what follows an Ethernet header.
type EtherType uint16

// The types that RoCEv2 has.
const (
	EtherIPv4 EtherType = 0x0800
	EtherIPv6 EtherType = 0x86dd
)

// Ethernet is the header of a frame without a VLAN.
type Ethernet struct {
	To, From [6]byte
	Type     EtherType
}

// AppendTo appends the header.
func (h *Ethernet) AppendTo(b []byte) []byte {
	b = append(append(b, h.To[:]...), h.From[:]...)
	return binary.BigEndian.AppendUint16(b, uint16(h.Type))
}

// Parse reads the header; rest is what follows it.
func (h *Ethernet) Parse(b []byte) (rest []byte, err error) {
	if len(b) < EthernetSize {
		return nil, errEthernet
	}
	*h = Ethernet{To: [6]byte(b), From: [6]byte(b[6:]), Type: EtherType(binary.BigEndian.Uint16(b[12:]))}
	return b[EthernetSize:], nil
}

// IPv4 is the header of a packet of UDP that is not, and may not be fragmented.
type IPv4 struct {
	Class    uint8 // type of service
	Length   uint16
	ID       uint16
	TTL      uint8
	From, To netip.Addr
}

// AppendTo appends the header with its checksum. The addresses are of IPv4.
func (h *IPv4) AppendTo(b []byte) []byte {
	at := len(b)
	b = append(b, 0x45, h.Class)
	b = binary.BigEndian.AppendUint16(b, h.Length)
	b = binary.BigEndian.AppendUint16(b, h.ID)
	b = append(b, 0x40, 0, h.TTL, protocolUDP, 0, 0)
	from, to := h.From.As4(), h.To.As4()
	b = append(append(b, from[:]...), to[:]...)
	binary.BigEndian.PutUint16(b[at+10:], onesSum(b[at:]))
	return b
}

// onesSum is the checksum of an IPv4 header.
func onesSum(b []byte) uint16 {
	var sum uint32
	for ; len(b) >= 2; b = b[2:] {
		sum += uint32(binary.BigEndian.Uint16(b))
	}
	for sum > 0xffff {
		sum = sum>>16 + sum&0xffff
	}
	return ^uint16(sum)
}

// Parse reads the header; rest is what follows it, as far as Length goes. A
// fragment, options, another protocol than UDP and a wrong checksum are errors.
func (h *IPv4) Parse(b []byte) (rest []byte, err error) {
	switch {
	case len(b) < IPv4Size:
		return nil, errIPv4
	case b[0] != 0x45 || binary.BigEndian.Uint16(b[6:])&^0x4000 != 0 || b[6]&0x40 == 0 || b[9] != protocolUDP || onesSum(b[:IPv4Size]) != 0:
		return nil, errIPv4Form
	}
	*h = IPv4{
		Class: b[1], Length: binary.BigEndian.Uint16(b[2:]), ID: binary.BigEndian.Uint16(b[4:]), TTL: b[8],
		From: netip.AddrFrom4([4]byte(b[12:])), To: netip.AddrFrom4([4]byte(b[16:])),
	}
	if int(h.Length) < IPv4Size || int(h.Length) > len(b) {
		return nil, errIPv4
	}
	return b[IPv4Size:h.Length], nil
}

// IPv6 is the header of a packet of UDP.
type IPv6 struct {
	Class    uint8
	Flow     uint32 // 20 bits
	Length   uint16 // behind the header
	Hops     uint8
	From, To netip.Addr
}

// AppendTo appends the header.
func (h *IPv6) AppendTo(b []byte) []byte {
	b = binary.BigEndian.AppendUint32(b, 6<<28|uint32(h.Class)<<20|h.Flow&0xf_ffff)
	b = binary.BigEndian.AppendUint16(b, h.Length)
	b = append(b, protocolUDP, h.Hops)
	from, to := h.From.As16(), h.To.As16()
	return append(append(b, from[:]...), to[:]...)
}

// Parse reads the header; rest is what follows it, as far as Length goes.
func (h *IPv6) Parse(b []byte) (rest []byte, err error) {
	if len(b) < IPv6Size {
		return nil, errIPv6
	}
	first := binary.BigEndian.Uint32(b)
	if first>>28 != 6 || b[6] != protocolUDP {
		return nil, errIPv6Form
	}
	*h = IPv6{
		Class: uint8(first >> 20), Flow: first & 0xf_ffff, Length: binary.BigEndian.Uint16(b[4:]), Hops: b[7],
		From: netip.AddrFrom16([16]byte(b[8:])), To: netip.AddrFrom16([16]byte(b[24:])),
	}
	if int(h.Length) > len(b)-IPv6Size {
		return nil, errIPv6
	}
	return b[IPv6Size:][:h.Length], nil
}

// UDP is the header of UDP.
type UDP struct {
	From, To uint16
	Length   uint16 // with the header
	Sum      uint16 // 0 is none
}

// AppendTo appends the header.
func (h *UDP) AppendTo(b []byte) []byte {
	b = binary.BigEndian.AppendUint16(b, h.From)
	b = binary.BigEndian.AppendUint16(b, h.To)
	b = binary.BigEndian.AppendUint16(b, h.Length)
	return binary.BigEndian.AppendUint16(b, h.Sum)
}

// Parse reads the header; rest is what follows it, as far as Length goes. The
// checksum is not looked at.
func (h *UDP) Parse(b []byte) (rest []byte, err error) {
	if len(b) < UDPSize {
		return nil, errUDP
	}
	*h = UDP{
		From: binary.BigEndian.Uint16(b), To: binary.BigEndian.Uint16(b[2:]),
		Length: binary.BigEndian.Uint16(b[4:]), Sum: binary.BigEndian.Uint16(b[6:]),
	}
	if int(h.Length) < UDPSize || int(h.Length) > len(b) {
		return nil, errUDP
	}
	return b[UDPSize:h.Length], nil
}

// AppendFrame appends a whole Ethernet frame of a packet of RoCEv2, from BTH to
// padding, with its ICRC. The UDP checksum is left out, as adapters do.
func (f *Flow) AppendFrame(b []byte, link Ethernet, hops uint8, transport []byte) ([]byte, error) {
	sum, err := f.ICRC(transport)
	if err != nil {
		return b, err
	}
	n := UDPSize + len(transport) + ICRCSize
	link.Type = EtherIPv6
	if f.To.Is4() {
		link.Type = EtherIPv4
	}
	b = link.AppendTo(b)
	if f.To.Is4() {
		b = (&IPv4{Length: uint16(IPv4Size + n), ID: f.ID, TTL: hops, From: f.From, To: f.To}).AppendTo(b)
	} else {
		b = (&IPv6{Length: uint16(n), Hops: hops, From: f.From, To: f.To}).AppendTo(b)
	}
	b = (&UDP{From: f.FromPort, To: f.ToPort, Length: uint16(n)}).AppendTo(b)
	return binary.LittleEndian.AppendUint32(append(b, transport...), sum), nil
}

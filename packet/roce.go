package packet

import (
	"encoding/binary"
	"hash/crc32"
	"net/netip"
)

// RoCEPort is the UDP port of RoCEv2.
const RoCEPort = 4791

// Flow is what the ICRC of RoCEv2 covers of the headers before the BTH (IBTA
// A17.3.3): both addresses, which are of one family, both ports, and of IPv4 the
// identification, beside the lengths. IPv4 packets may not be fragmented.
type Flow struct {
	From, To         netip.Addr
	FromPort, ToPort uint16
	ID               uint16
}

// ICRC is the invariant CRC of a packet from its BTH to the end of its padding.
func (f *Flow) ICRC(transport []byte) (uint32, error) {
	return transportCRC(f.seed(len(transport)+ICRCSize), transport)
}

// seed is the CRC's state before the BTH of a packet with n bytes behind UDP's
// header.
func (f *Flow) seed(n int) uint32 {
	// In place of the LRH there are 8 bytes of ones.
	var b [8 + IPv6Size + UDPSize]byte
	head := append(b[:0], 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff)
	if f.To.Is4() {
		head = append(head, 0x45, 0xff)
		head = binary.BigEndian.AppendUint16(head, uint16(IPv4Size+UDPSize+n))
		head = binary.BigEndian.AppendUint16(head, f.ID)
		head = append(head, 0x40, 0, 0xff, protocolUDP, 0xff, 0xff)
		from, to := f.From.As4(), f.To.As4()
		head = append(append(head, from[:]...), to[:]...)
	} else {
		head = append(head, 0x6f, 0xff, 0xff, 0xff)
		head = binary.BigEndian.AppendUint16(head, uint16(UDPSize+n))
		head = append(head, protocolUDP, 0xff)
		from, to := f.From.As16(), f.To.As16()
		head = append(append(head, from[:]...), to[:]...)
	}
	head = binary.BigEndian.AppendUint16(head, f.FromPort)
	head = binary.BigEndian.AppendUint16(head, f.ToPort)
	head = binary.BigEndian.AppendUint16(head, uint16(UDPSize+n))
	head = append(head, 0xff, 0xff)
	return update32(0xffff_ffff, head)
}

// Check tells whether a packet, from its BTH to its ICRC, is undamaged, and gives
// what is before the ICRC. The identification of an IPv4 packet, which sockets do
// not tell, is looked for: f.ID is tried first, and becomes the one that was
// found. That leaves 16 of the 32 bits to tell damage by.
func (f *Flow) Check(b []byte) (transport []byte, ok bool) {
	if len(b) < BTHSize+ICRCSize {
		return nil, false
	}
	transport = b[:len(b)-ICRCSize]
	got := binary.LittleEndian.Uint32(b[len(transport):])
	want, _ := f.ICRC(transport) // it is long enough
	switch {
	case got == want:
		return transport, true
	case !f.To.Is4():
		return nil, false
	}
	change, ok := findWord(got^want, IPv4Size-6+UDPSize+len(transport))
	if !ok {
		return nil, false
	}
	f.ID ^= change
	return transport, true
}

// findWord is the word whose change makes a CRC differ by that, where n bytes
// follow it. CRCs are linear: the difference is that of the word alone, shifted
// by n bytes.
func findWord(difference uint32, n int) (word uint16, ok bool) {
	for i := 0; n != 0; i, n = i+1, n>>1 {
		if i == len(unshifts) {
			return 0, false
		}
		if n&1 != 0 {
			difference = multiply(difference, unshifts[i])
		}
	}
	// The difference is now the state after the two bytes of the word.
	t := &crc32Tables[0]
	last := indexOfTop(difference >> 24)
	before := (difference ^ t[last]) << 8 // and its lowest byte, which is not known
	first := indexOfTop(before >> 24)
	if t[first]&^0xff != before {
		return 0, false
	}
	return uint16(first)<<8 | uint16(last^byte(t[first])), true
}

// indexOfTop is the entry of the table with that upper byte, of which there is
// one.
func indexOfTop(top uint32) byte {
	for i, v := range &crc32Tables[0] {
		if v>>24 == top {
			return byte(i)
		}
	}
	return 0
}

// multiply multiplies polynomials modulo that of the CRC, with reversed bits: the
// highest is that of x^0.
func multiply(a, b uint32) (p uint32) {
	for m := uint32(1 << 31); m != 0; m >>= 1 {
		if a&m != 0 {
			p ^= b
		}
		b = b>>1 ^ crc32.IEEE&-(b&1)
	}
	return p
}

// unshifts take a CRC's state back by 1, 2, 4, ... bytes of zeroes.
var unshifts = inverses()

func inverses() (t [17]uint32) {
	// x^-1 is (P-1)/x, which is P without its lowest bit, shifted.
	back := uint32(crc32.IEEE<<1&0xffff_ffff) | 1
	for range 3 {
		back = multiply(back, back)
	}
	for i := range t {
		t[i] = back
		back = multiply(back, back)
	}
	return t
}

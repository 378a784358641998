package packet

import (
	"hash/crc32"
	"math/bits"
)

// ICRCSize and VCRCSize are the sizes of the CRCs in bytes. Both are stored with
// the least significant byte first.
const (
	ICRCSize = 4
	VCRCSize = 2
)

// crc32Tables are for the few bytes of headers, which crc32.Update would move to
// the heap.
var crc32Tables = slices32(crc32.IEEE)

func slices32(polynomial uint32) (t [8][256]uint32) {
	t[0] = *crc32.MakeTable(polynomial)
	for i := range 256 {
		for k := 1; k < 8; k++ {
			c := t[k-1][i]
			t[k][i] = c>>8 ^ t[0][byte(c)]
		}
	}
	return t
}

// update32 is crc32.Update without the complements, 8 bytes at a time.
func update32(c uint32, p []byte) uint32 {
	t := &crc32Tables
	for len(p) >= 8 {
		c ^= uint32(p[0]) | uint32(p[1])<<8 | uint32(p[2])<<16 | uint32(p[3])<<24
		c = t[0][p[7]] ^ t[1][p[6]] ^ t[2][p[5]] ^ t[3][p[4]] ^ t[4][c>>24] ^ t[5][byte(c>>16)] ^ t[6][byte(c>>8)] ^ t[7][byte(c)]
		p = p[8:]
	}
	for _, b := range p {
		c = c>>8 ^ t[0][byte(c)^b]
	}
	return c
}

// crc16Tables are those of the VCRC's polynomial, 0x100B with its bits reversed.
var crc16Tables = slices16(bits.Reverse16(0x100b))

func slices16(polynomial uint16) (t [8][256]uint16) {
	for i := range 256 {
		c := uint16(i)
		for range 8 {
			c = c>>1 ^ polynomial&-(c&1)
		}
		t[0][i] = c
	}
	for i := range 256 {
		for k := 1; k < 8; k++ {
			c := t[k-1][i]
			t[k][i] = c>>8 ^ t[0][byte(c)]
		}
	}
	return t
}

// VCRC is the variant CRC of a packet from its LRH to its ICRC (IBTA 7.8.2).
func VCRC(b []byte) uint16 {
	t, c := &crc16Tables, uint16(0xffff)
	for len(b) >= 8 {
		c = t[7][byte(c)^b[0]] ^ t[6][byte(c>>8)^b[1]] ^ t[5][b[2]] ^ t[4][b[3]] ^ t[3][b[4]] ^ t[2][b[5]] ^ t[1][b[6]] ^ t[0][b[7]]
		b = b[8:]
	}
	for _, x := range b {
		c = c>>8 ^ t[0][byte(c)^x]
	}
	return ^c
}

// ICRC is the invariant CRC of a packet of InfiniBand (IBTA 7.8.1), from its LRH
// to the end of its padding. It leaves out what switches and routers change: the
// VL, or of a packet with a GRH the whole LRH; traffic class, flow label and hop
// limit; the reserved byte of the BTH.
func ICRC(b []byte) (uint32, error) {
	var h LRH
	rest, err := h.Parse(b)
	if err != nil {
		return 0, err
	}
	var head [LRHSize + GRHSize]byte
	n := LRHSize
	switch h.Next {
	case NextBTH:
	case NextGRH:
		n += GRHSize
		if len(rest) < GRHSize {
			return 0, errGRH
		}
	case NextRaw, NextIPv6:
		return 0, errLRHFormat
	}
	copy(head[:], b[:n])
	head[0] |= 0xf0
	if h.Next == NextGRH {
		for i := range LRHSize {
			head[i] = 0xff
		}
		grh := head[LRHSize:]
		grh[0], grh[1], grh[2], grh[3], grh[7] = grh[0]|0xf, 0xff, 0xff, 0xff, 0xff
	}
	return transportCRC(update32(0xffff_ffff, head[:n]), b[n:])
}

// transportCRC goes on with what is behind the network's headers.
func transportCRC(c uint32, b []byte) (uint32, error) {
	if len(b) < BTHSize {
		return 0, errBTH
	}
	var bth [BTHSize]byte
	copy(bth[:], b)
	bth[4] = 0xff
	return crc32.Update(^update32(c, bth[:]), crc32.IEEETable, b[BTHSize:]), nil
}

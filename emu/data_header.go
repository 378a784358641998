package emu

import (
	"fmt"

	"heddle/ib"
	"heddle/packet"
)

// header is what switches read of a data packet: the LRH, and of what follows
// it the P_Key of the BTH.
type header struct {
	dlid, slid ib.LID
	sl         ib.SL
	pkey       ib.PKey // 0 in a raw packet
	words      uint16  // LRH:PktLen: from the LRH to before the VCRC, in 4 bytes
	raw        bool    // no BTH
}

// The lengths of the checksums, in bytes.
const (
	icrcLen = 4
	vcrcLen = 2
)

func (h *header) multicast() bool { return ib.MLID(h.dlid).IsValid() }

// wire is the packet's length on a link, the VCRC with it, in bytes.
func (h *header) wire() int { return int(h.words)*4 + vcrcLen }

// parseHeader reads the headers of a packet from the LRH on, with its VCRC or
// without.
func parseHeader(b []byte) (header, error) {
	var lrh packet.LRH
	rest, err := lrh.Parse(b)
	if err != nil {
		return header{}, fmt.Errorf("%w: %w", ErrPacket, err)
	}
	if n := int(lrh.Words) * 4; n != len(b) && n+vcrcLen != len(b) {
		return header{}, fmt.Errorf("packet of %d bytes, its LRH tells of %d: %w", len(b), n, ErrPacket)
	}
	h := header{dlid: ib.LID(lrh.DLID), slid: ib.LID(lrh.SLID), sl: lrh.SL, words: lrh.Words}
	if h.raw = lrh.Next != packet.NextBTH && lrh.Next != packet.NextGRH; h.raw {
		return h, nil
	}
	need := packet.BTHSize + icrcLen
	if lrh.Next == packet.NextGRH {
		need += packet.GRHSize
	}
	if len(rest) < need {
		return header{}, fmt.Errorf("packet of %d bytes ends within its headers: %w", len(b), ErrPacket)
	}
	var bth packet.BTH
	if _, err := bth.Parse(rest[need-packet.BTHSize-icrcLen:]); err != nil {
		return header{}, fmt.Errorf("%w: %w", ErrPacket, err)
	}
	h.pkey = bth.PKey
	return h, nil
}

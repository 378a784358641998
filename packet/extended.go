package packet

import (
	"encoding/binary"

	"heddle/ib"
)

// DETH is the datagram extended header (IBTA 9.3.3), of 8 bytes.
type DETH struct {
	QKey ib.QKey
	From ib.QPN // the sender
}

// RETH names memory of the peer (IBTA 9.3.4), in 16 bytes.
type RETH struct {
	Addr   uint64
	RKey   uint32
	Length uint32 // of the whole message, in bytes
}

// AtomicETH is what an atomic does (IBTA 9.3.5.3), in 28 bytes.
type AtomicETH struct {
	Addr uint64
	RKey uint32
	// Swap is what CompareSwap stores, or what FetchAdd adds.
	Swap, Compare uint64
}

// AETH is an acknowledgement (IBTA 9.3.5.2), of 4 bytes.
type AETH struct {
	Syndrome Syndrome
	MSN      uint32 // messages that were completed, 24 bits
}

// Syndrome is what an AETH says (IBTA 9.7.5.2.1). Its upper 3 bits are the kind.
type Syndrome uint8

// The kinds. An ACK has the credits in the other 5 bits, an RNR NAK the timer.
const (
	AckCredits Syndrome = 0x00
	RNR        Syndrome = 0x20
	// NoCredits is an ACK without a count of credits.
	NoCredits Syndrome = 0x1f

	NAKSequence  Syndrome = 0x60
	NAKInvalid   Syndrome = 0x61
	NAKAccess    Syndrome = 0x62
	NAKOperation Syndrome = 0x63
	NAKRD        Syndrome = 0x64
)

// Kind is the syndrome without its 5 lower bits: AckCredits, RNR or NAKSequence.
func (s Syndrome) Kind() Syndrome { return s & 0xe0 }

// Value is those 5 bits.
func (s Syndrome) Value() uint8 { return uint8(s & 0x1f) }

func (h *DETH) appendTo(b []byte) []byte {
	b = binary.BigEndian.AppendUint32(b, uint32(h.QKey))
	return binary.BigEndian.AppendUint32(b, uint32(h.From)&0xff_ffff)
}

func (h *DETH) parse(b []byte) []byte {
	*h = DETH{QKey: ib.QKey(binary.BigEndian.Uint32(b)), From: ib.QPN(binary.BigEndian.Uint32(b[4:]) & 0xff_ffff)}
	return b[8:]
}

func (h *RETH) appendTo(b []byte) []byte {
	b = binary.BigEndian.AppendUint64(b, h.Addr)
	b = binary.BigEndian.AppendUint32(b, h.RKey)
	return binary.BigEndian.AppendUint32(b, h.Length)
}

func (h *RETH) parse(b []byte) []byte {
	*h = RETH{Addr: binary.BigEndian.Uint64(b), RKey: binary.BigEndian.Uint32(b[8:]), Length: binary.BigEndian.Uint32(b[12:])}
	return b[16:]
}

func (h *AtomicETH) appendTo(b []byte) []byte {
	b = binary.BigEndian.AppendUint64(b, h.Addr)
	b = binary.BigEndian.AppendUint32(b, h.RKey)
	b = binary.BigEndian.AppendUint64(b, h.Swap)
	return binary.BigEndian.AppendUint64(b, h.Compare)
}

func (h *AtomicETH) parse(b []byte) []byte {
	*h = AtomicETH{
		Addr: binary.BigEndian.Uint64(b), RKey: binary.BigEndian.Uint32(b[8:]),
		Swap: binary.BigEndian.Uint64(b[12:]), Compare: binary.BigEndian.Uint64(b[20:]),
	}
	return b[28:]
}

func (h *AETH) appendTo(b []byte) []byte {
	return binary.BigEndian.AppendUint32(b, uint32(h.Syndrome)<<24|h.MSN&0xff_ffff)
}

func (h *AETH) parse(b []byte) []byte {
	v := binary.BigEndian.Uint32(b)
	*h = AETH{Syndrome: Syndrome(v >> 24), MSN: v & 0xff_ffff}
	return b[4:]
}

package packet

import "encoding/binary"

// Headers are the BTH and what follows it before the payload. Which of the other
// fields there are, the opcode says; those that are not there are left as they
// were by Parse, and not looked at by AppendTo.
type Headers struct {
	BTH    BTH
	EEC    uint32 // RDETH, of RD: the end-to-end context, 24 bits
	DETH   DETH   // of UD and of requests of RD
	RETH   RETH
	Atomic AtomicETH
	AETH   AETH
	// Result is the AtomicAckETH, Imm the ImmDt, RKey the IETH.
	Result uint64
	Imm    uint32
	RKey   uint32
}

// MaxHeaders is the most bytes that Headers are encoded in.
const MaxHeaders = BTHSize + 4 + 8 + 28

// Size is the number of bytes that the headers of an opcode have, 0 for one that
// is not known.
func (o Opcode) Size() int {
	e := o.extended()
	if e == 0 {
		return 0
	}
	n := BTHSize
	if o.Service() == RD {
		n += 4
	}
	if o.hasDETH(e) {
		n += 8
	}
	for _, x := range [...]struct {
		has  extension
		size int
	}{{hasRETH, 16}, {hasAtomicETH, 28}, {hasAETH, 4}, {hasAtomicAck, 8}, {hasImm, 4}, {hasIETH, 4}} {
		if e&x.has != 0 {
			n += x.size
		}
	}
	return n
}

// hasDETH tells whether there is a DETH: in datagrams, and in all requests of RD.
func (o Opcode) hasDETH(e extension) bool {
	response := o.Operation() >= ReadResponseFirst && o.Operation() <= AtomicAcknowledge
	return e != 0 && (o.Service() == UD || o.Service() == RD && !response)
}

// AppendTo appends the headers. Those behind the BTH of an opcode that is not
// known are none.
func (h *Headers) AppendTo(b []byte) []byte {
	o := h.BTH.Opcode
	e := o.extended()
	b = h.BTH.AppendTo(b)
	if e != 0 && o.Service() == RD {
		b = binary.BigEndian.AppendUint32(b, h.EEC&0xff_ffff)
	}
	if o.hasDETH(e) {
		b = h.DETH.appendTo(b)
	}
	if e&hasRETH != 0 {
		b = h.RETH.appendTo(b)
	}
	if e&hasAtomicETH != 0 {
		b = h.Atomic.appendTo(b)
	}
	if e&hasAETH != 0 {
		b = h.AETH.appendTo(b)
	}
	if e&hasAtomicAck != 0 {
		b = binary.BigEndian.AppendUint64(b, h.Result)
	}
	if e&hasImm != 0 {
		b = binary.BigEndian.AppendUint32(b, h.Imm)
	}
	if e&hasIETH != 0 {
		b = binary.BigEndian.AppendUint32(b, h.RKey)
	}
	return b
}

// Parse reads the headers of a packet, from the BTH to the end of the padding. It
// gives the payload, which is part of b, without the padding.
func (h *Headers) Parse(b []byte) (payload []byte, err error) {
	rest, err := h.BTH.Parse(b)
	if err != nil {
		return nil, err
	}
	o := h.BTH.Opcode
	e := o.extended()
	switch {
	case e == 0:
		return nil, ErrOpcode
	case len(b) < o.Size():
		return nil, errExtended
	}
	rest = h.parseExtended(rest, o, e)
	if int(h.BTH.Pad) > len(rest) {
		return nil, errPadding
	}
	return rest[:len(rest)-int(h.BTH.Pad)], nil
}

// parseExtended reads what is behind the BTH, which is long enough.
func (h *Headers) parseExtended(b []byte, o Opcode, e extension) []byte {
	if o.Service() == RD {
		h.EEC, b = binary.BigEndian.Uint32(b)&0xff_ffff, b[4:]
	}
	if o.hasDETH(e) {
		b = h.DETH.parse(b)
	}
	if e&hasRETH != 0 {
		b = h.RETH.parse(b)
	}
	if e&hasAtomicETH != 0 {
		b = h.Atomic.parse(b)
	}
	if e&hasAETH != 0 {
		b = h.AETH.parse(b)
	}
	if e&hasAtomicAck != 0 {
		h.Result, b = binary.BigEndian.Uint64(b), b[8:]
	}
	if e&hasImm != 0 {
		h.Imm, b = binary.BigEndian.Uint32(b), b[4:]
	}
	if e&hasIETH != 0 {
		h.RKey, b = binary.BigEndian.Uint32(b), b[4:]
	}
	return b
}

// Padding is how many bytes bring a payload to a multiple of 4.
func Padding(payload int) uint8 { return uint8(-payload) & 3 }

package ibsim

import (
	"encoding/binary"

	"heddle/ib"
	"heddle/mad"
)

// PacketSize is the length of a packet in bytes.
const PacketSize = 32 + mad.Size

// Where things stand in a packet.
const (
	offDLID   = 0
	offSLID   = 4
	offDQP    = 8
	offSQP    = 12
	offStatus = 16
	offLength = 24
	offMAD    = 32
)

// StatusTimeout is the status of a request that comes back because nobody got
// it: the number of Linux's ETIMEDOUT.
const StatusTimeout = 110

var be = binary.BigEndian

// Packet is what travels on the data sockets: one datagram and its addresses.
// Its methods read and write it in place; none of them allocates. The LIDs are
// 16 bits of network order in a number of 32 bits of the host, the queue pairs
// and the status are in network order.
type Packet [PacketSize]byte

// ParsePacket takes all of b as a packet, which is b itself and no copy. Any
// bytes of the right number are a packet.
func ParsePacket(b []byte) (*Packet, error) {
	if len(b) != PacketSize {
		return nil, malformed("packet of %d bytes, want %d", len(b), PacketSize)
	}
	return (*Packet)(b), nil
}

// DLID is the LID that the packet goes to: ib.PermissiveLID for a directed
// route.
func (p *Packet) DLID() ib.LID { return p.lid(offDLID) }

// SetDLID writes the LID that the packet goes to.
func (p *Packet) SetDLID(lid ib.LID) { p.setLID(offDLID, lid) }

// SLID is the LID that the packet comes from. In a packet from a client 0
// stands for the LID of its port, and ib.PermissiveLID for a directed route.
func (p *Packet) SLID() ib.LID { return p.lid(offSLID) }

// SetSLID writes the LID that the packet comes from.
func (p *Packet) SetSLID(lid ib.LID) { p.setLID(offSLID, lid) }

// lid reads the number of the host, then turns its low 16 bits.
func (p *Packet) lid(off int) ib.LID {
	var b [2]byte
	host.PutUint16(b[:], uint16(host.Uint32(p[off:])))
	return ib.LID(be.Uint16(b[:]))
}

func (p *Packet) setLID(off int, lid ib.LID) {
	var b [2]byte
	be.PutUint16(b[:], uint16(lid))
	host.PutUint32(p[off:], uint32(host.Uint16(b[:])))
}

// DQP is the queue pair that the packet goes to.
func (p *Packet) DQP() ib.QPN { return ib.QPN(be.Uint32(p[offDQP:])) }

// SetDQP writes the queue pair that the packet goes to.
func (p *Packet) SetDQP(qp ib.QPN) { be.PutUint32(p[offDQP:], uint32(qp)) }

// SQP is the queue pair that the packet comes from.
func (p *Packet) SQP() ib.QPN { return ib.QPN(be.Uint32(p[offSQP:])) }

// SetSQP writes the queue pair that the packet comes from.
func (p *Packet) SetSQP(qp ib.QPN) { be.PutUint32(p[offSQP:], uint32(qp)) }

// Status is 0, or StatusTimeout in a request that came back.
func (p *Packet) Status() uint32 { return be.Uint32(p[offStatus:]) }

// SetStatus writes the status.
func (p *Packet) SetStatus(status uint32) { be.PutUint32(p[offStatus:], status) }

// Length is the number of bytes of the datagram that the sender filled.
func (p *Packet) Length() uint64 { return be.Uint64(p[offLength:]) }

// SetLength writes the length: mad.Size in all packets of ibsim itself.
func (p *Packet) SetLength(n uint64) { be.PutUint64(p[offLength:], n) }

// MAD is the datagram, in place.
func (p *Packet) MAD() *mad.Datagram { return (*mad.Datagram)(p[offMAD:]) }

// Turn exchanges source and destination, for the way back.
func (p *Packet) Turn() {
	dlid, dqp := p.DLID(), p.DQP()
	p.SetDLID(p.SLID())
	p.SetDQP(p.SQP())
	p.SetSLID(dlid)
	p.SetSQP(dqp)
}

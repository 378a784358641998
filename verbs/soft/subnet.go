package soft

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"

	"heddle/ib"
	"heddle/packet"
	"heddle/verbs"
)

// NewPortLink makes a link of a port of an InfiniBand subnet. Its Close closes the
// port as well, where that is an io.Closer.
func NewPortLink(p Port) Link { return &portLink{port: p, groups: map[membership]bool{}} }

// portLink puts the headers and CRCs of InfiniBand around packets.
type portLink struct {
	port Port

	sending sync.Mutex
	out     [][]byte // guarded by sending: packets, whose memory is used again

	mu     sync.Mutex
	groups map[membership]bool // guarded by mu
	closed bool
}

type membership struct {
	group ib.MGID
	lid   ib.MLID
}

// batchPackets is how many packets are given to the port at once at most.
const batchPackets = 64

// Attr implements Link.
func (l *portLink) Attr() LinkAttr {
	lid, lmc, sm, prefix, active := l.port.Address()
	a := LinkAttr{
		Layer: verbs.LinkInfiniBand, State: verbs.PortInit, GUID: l.port.GUID(), MTU: l.port.MTU(), LID: lid, LMC: lmc, SMLID: sm,
		Rate: l.port.Rate(), PKeys: l.port.PKeys(),
	}
	if active {
		a.State = verbs.PortActive
	}
	a.GIDs = []verbs.GIDEntry{{GID: ib.NewGID(prefix, a.GUID), Type: verbs.GIDInfiniBand}}
	return a
}

// Start implements Link.
func (l *portLink) Start(receive func(batch []Packet)) error {
	var batch []Packet
	l.port.Receive(func(packets [][]byte) {
		lid, lmc, _, _, active := l.port.Address()
		if !active {
			return
		}
		batch = batch[:0]
		for _, b := range packets {
			if p, err := l.unwrap(b, lid, lmc); err == nil {
				batch = append(batch, p)
			}
		}
		if len(batch) > 0 {
			receive(batch)
		}
	})
	return nil
}

// Why a packet is dropped.
var (
	errNotOurs = errors.New("a packet for another port")
	errDamaged = errors.New("a damaged packet")
)

// unwrap takes a packet apart, whose Data stays where it is.
func (l *portLink) unwrap(b []byte, lid ib.LID, lmc uint8) (p Packet, err error) {
	var h packet.LRH
	rest, err := h.Parse(b)
	if err != nil {
		return p, err
	}
	end := 4 * int(h.Words) // of the ICRC
	if end > len(b) || end < len(b)-len(rest)+packet.BTHSize+packet.ICRCSize {
		return p, fmt.Errorf("%d words in %d bytes: %w", h.Words, len(b), errDamaged)
	}
	rest = rest[:len(rest)-(len(b)-end)]
	p.Path = Path{LID: h.SLID, Own: h.DLID, SL: h.SL}
	var grh packet.GRH
	if h.Next == packet.NextGRH {
		if rest, err = grh.Parse(rest); err != nil {
			return p, err
		}
		p.Path.Remote, p.Path.Local, p.Path.Hops, p.Path.Class = grh.SGID, grh.DGID, grh.Hops, grh.Class
	}
	if len(rest) < packet.BTHSize+packet.ICRCSize {
		return p, fmt.Errorf("%d bytes behind the headers of the network: %w", len(rest), errDamaged)
	}
	switch {
	case ib.MLID(h.DLID).IsValid():
		p.Path.Own = 0 // nobody sends from there
		if !l.member(ib.MGID(grh.DGID), ib.MLID(h.DLID)) {
			return p, errNotOurs
		}
	case lid == 0 || h.DLID>>lmc != uint16(lid)>>lmc:
		return p, errNotOurs
	}
	data := rest[:len(rest)-packet.ICRCSize]
	crc, err := packet.ICRC(b[:end-packet.ICRCSize])
	if err != nil || crc != binary.LittleEndian.Uint32(rest[len(data):]) {
		return p, errDamaged
	}
	p.Data = data
	return p, nil
}

func (l *portLink) member(group ib.MGID, lid ib.MLID) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.groups[membership{group, lid}]
}

// Send implements Link.
func (l *portLink) Send(batch []Packet) {
	lid, _, _, _, active := l.port.Address()
	if !active {
		return
	}
	l.sending.Lock()
	defer l.sending.Unlock()
	for len(batch) > 0 {
		n := min(len(batch), batchPackets)
		for len(l.out) < n {
			l.out = append(l.out, nil)
		}
		for i := range n {
			l.out[i] = wrap(l.out[i][:0], &batch[i], lid)
		}
		l.port.Transmit(l.out[:n])
		batch = batch[n:]
	}
}

// wrap appends a packet as it goes over the link.
func wrap(b []byte, p *Packet, lid ib.LID) []byte {
	from := len(b)
	h := packet.LRH{SL: p.Path.SL, Next: packet.NextBTH, DLID: p.Path.LID, SLID: p.Path.Own}
	if h.SLID == 0 {
		h.SLID = uint16(lid)
	}
	size := packet.LRHSize + len(p.Data) + packet.ICRCSize
	global := p.Path.Remote.IsValid()
	if global {
		h.Next = packet.NextGRH
		size += packet.GRHSize
	}
	h.Words = uint16(size / 4)
	b = h.AppendTo(b)
	if global {
		grh := packet.GRH{
			Class: p.Path.Class, Length: uint16(len(p.Data) + packet.ICRCSize), Hops: p.Path.Hops, SGID: p.Path.Local, DGID: p.Path.Remote,
		}
		if grh.Hops == 0 {
			grh.Hops = 64
		}
		b = grh.AppendTo(b)
	}
	b = append(b, p.Data...)
	crc, err := packet.ICRC(b[from:])
	if err != nil { // what a device makes has all headers
		return b[:from]
	}
	b = binary.LittleEndian.AppendUint32(b, crc)
	return binary.LittleEndian.AppendUint16(b, packet.VCRC(b[from:]))
}

// Join implements Link: which packets come, the tables of the subnet say.
func (l *portLink) Join(group ib.MGID, lid ib.MLID) error {
	if !lid.IsValid() {
		return fmt.Errorf("group %v without an MLID: %w", group, verbs.ErrInvalid)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.groups[membership{group, lid}] = true
	return nil
}

// Leave implements Link.
func (l *portLink) Leave(group ib.MGID, lid ib.MLID) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.groups, membership{group, lid})
	return nil
}

// Close implements Link.
func (l *portLink) Close() error {
	l.mu.Lock()
	closed := l.closed
	l.closed = true
	l.mu.Unlock()
	if closed {
		return nil
	}
	l.port.Receive(nil)
	if c, ok := l.port.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

package soft

import (
	"encoding/binary"
	"fmt"
	"sync"

	"heddle/ib"
	"heddle/packet"
	"heddle/verbs"
)

// OnPort is the device of a port of an InfiniBand subnet.
func OnPort(name string, p Port) *Device {
	return NewDevice(name, func() (Link, error) { return &fabric{port: p}, nil })
}

// fabric is a link on a port: it puts LRH, GRH and both CRCs around packets, and
// takes from the port what is for its LID or a group. The port's P_Key table is
// looked at by the QPs.
type fabric struct {
	port    Port
	receive func([]Packet)

	mu      sync.Mutex
	bytes   []byte // guarded by mu, as frames
	frames  [][]byte
	inbound []Packet // of the goroutine that receives
}

func (f *fabric) Attr() LinkAttr {
	lid, lmc, sm, prefix, active := f.port.Address()
	a := LinkAttr{
		Layer: verbs.LinkInfiniBand, State: verbs.PortInit, GUID: f.port.GUID(), MTU: f.port.MTU(), LID: lid, SMLID: sm, LMC: lmc,
		Rate: f.port.Rate(), PKeys: f.port.PKeys(),
		GIDs: []verbs.GIDEntry{{GID: ib.NewGID(prefix, f.port.GUID()), Type: verbs.GIDInfiniBand}},
	}
	if active {
		a.State = verbs.PortActive
	}
	return a
}

func (f *fabric) Start(receive func([]Packet)) error {
	f.receive = receive
	f.port.Receive(f.came)
	return nil
}

// Send implements Link.
func (f *fabric) Send(batch []Packet) {
	lid, _, _, _, active := f.port.Address()
	if !active {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.bytes, f.frames = f.bytes[:0], f.frames[:0]
	for i := range batch {
		f.add(&batch[i], lid)
	}
	f.port.Transmit(f.frames)
}

// add makes a whole packet.
func (f *fabric) add(p *Packet, lid ib.LID) {
	most := packet.LRHSize + packet.GRHSize + len(p.Data) + packet.ICRCSize + packet.VCRCSize
	if cap(f.bytes)-len(f.bytes) < most {
		f.bytes = make([]byte, 0, max(most, 64*(packet.MaxHeaders+4096+Trailer+packet.LRHSize+packet.GRHSize)))
	}
	at := len(f.bytes)
	own := p.Path.Own
	if own == 0 {
		own = uint16(lid)
	}
	h := packet.LRH{SL: p.Path.SL, Next: packet.NextBTH, DLID: p.Path.LID, SLID: own}
	words := packet.LRHSize + len(p.Data) + packet.ICRCSize
	global := p.Path.Remote.IsValid()
	if global {
		h.Next, words = packet.NextGRH, words+packet.GRHSize
	}
	h.Words = uint16(words / 4)
	b := h.AppendTo(f.bytes)
	if global {
		hops := p.Path.Hops
		if hops == 0 {
			hops = 64
		}
		g := packet.GRH{Class: p.Path.Class, Length: uint16(len(p.Data) + packet.ICRCSize), Hops: hops, SGID: p.Path.Local, DGID: p.Path.Remote}
		b = g.AppendTo(b)
	}
	b = append(b, p.Data...)
	sum, _ := packet.ICRC(b[at:]) // it has all headers
	b = binary.LittleEndian.AppendUint32(b, sum)
	b = binary.LittleEndian.AppendUint16(b, packet.VCRC(b[at:]))
	f.bytes = b
	f.frames = append(f.frames, b[at:])
}

// came takes whole packets; one that is damaged is dropped.
func (f *fabric) came(frames [][]byte) {
	lid, lmc, _, _, _ := f.port.Address()
	f.inbound = f.inbound[:0]
	for _, b := range frames {
		if p, ok := parse(b); ok && isOwn(p.Path.Own, lid, lmc) {
			f.inbound = append(f.inbound, p)
		}
	}
	if len(f.inbound) > 0 {
		f.receive(f.inbound)
	}
}

// isOwn tells whether a port receives what is sent to a LID.
func isOwn(to uint16, lid ib.LID, lmc uint8) bool {
	return ib.MLID(to).IsValid() || to>>lmc == uint16(lid)>>lmc
}

// parse takes a whole packet apart.
func parse(b []byte) (p Packet, ok bool) {
	if len(b) < packet.LRHSize+packet.BTHSize+packet.ICRCSize+packet.VCRCSize {
		return p, false
	}
	b = b[:len(b)-packet.VCRCSize]
	body := b[:len(b)-packet.ICRCSize]
	sum, err := packet.ICRC(body)
	if err != nil || sum != binary.LittleEndian.Uint32(b[len(body):]) {
		return p, false
	}
	var h packet.LRH
	rest, err := h.Parse(body)
	if err != nil || int(h.Words)*4 != len(b) {
		return p, false
	}
	p.Path = Path{LID: h.SLID, Own: h.DLID, SL: h.SL}
	if h.Next == packet.NextGRH {
		var g packet.GRH
		if rest, err = g.Parse(rest); err != nil {
			return p, false
		}
		p.Path.Remote, p.Path.Local, p.Path.Hops, p.Path.Class = g.SGID, g.DGID, g.Hops, g.Class
	}
	p.Data = rest
	return p, true
}

// Join implements Link: what is sent to a group comes by the tables of the
// switches, which the subnet manager makes for who has joined there.
func (f *fabric) Join(group ib.MGID, lid ib.MLID) error {
	if !lid.IsValid() {
		return fmt.Errorf("group %v needs the LID that the subnet manager gave it: %w", group, verbs.ErrInvalid)
	}
	return nil
}

// Leave implements Link.
func (f *fabric) Leave(ib.MGID, ib.MLID) error { return nil }

// Close implements Link.
func (f *fabric) Close() error {
	f.port.Receive(nil)
	return nil
}

var _ Link = (*fabric)(nil)

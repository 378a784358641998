package engine

import (
	"heddle/packet"
	"heddle/verbs"
)

// batch is how many packets are sent at once at most.
const batch = 64

// output is packets that wait to be sent, in one piece of memory.
type output struct {
	packets []Packet
	bytes   []byte
	most    int // bytes of one packet
}

func (o *output) room(mtu int) {
	o.most = packet.MaxHeaders + mtu + 4 + Trailer
	o.packets, o.bytes = make([]Packet, 0, batch), make([]byte, 0, batch*o.most)
}

// begin gives memory for a packet, to append to.
func (e *Engine) begin() []byte {
	o := &e.out
	if len(o.packets) == batch {
		e.emit()
	}
	at := len(o.bytes)
	return o.bytes[at:at:cap(o.bytes)]
}

// end adds the packet that was appended to what begin gave.
func (e *Engine) end(path *Path, b []byte) {
	o := &e.out
	at := len(o.bytes)
	next := min((at+len(b)+Trailer+7)&^7, cap(o.bytes))
	o.packets = append(o.packets, Packet{Path: *path, Data: o.bytes[at : at+len(b) : next]})
	o.bytes = o.bytes[:next]
	e.Stats.Sent++
}

// emit sends what waits.
func (e *Engine) emit() {
	if len(e.out.packets) > 0 {
		e.cfg.Send(e.out.packets)
		e.out.packets, e.out.bytes = e.out.packets[:0], e.out.bytes[:0]
	}
}

// gathered is how many packets are sent at once where they may wait for each other.
const gathered = 16

// Gathers tells whether packets of a QP that wait to be sent may wait for more: few
// do so, and as many were sent that will be acknowledged.
func (q *QP) Gathers() bool {
	n := len(q.engine.out.packets)
	return n < gathered && q.Attr.Type == verbs.RC && q.state == verbs.RTS && !q.resting && q.highest-q.unacked >= uint64(n+gathered)
}

package engine

import (
	"math/rand/v2"
	"time"

	"heddle/ib"
	"heddle/packet"
	"heddle/verbs"
	"heddle/verbs/internal/queue"
)

// Completions is a CQ as the engine sees it.
type Completions interface {
	Push(wc verbs.WC, solicited bool)
	Forget(of func(*verbs.WC) bool)
}

// Config is what an Engine needs.
type Config struct {
	Regions *queue.Regions
	// Send is called with packets, which it may keep nothing of.
	Send func(batch []Packet)
	// Tell is called with asynchronous events of a QP.
	Tell func(verbs.EventType, *QP)
	// MaxMTU is that of the largest packets.
	MaxMTU ib.MTU
	// Random is for QPNs and PSNs.
	Random *rand.Rand
}

// Engine is the transport of one port. It is for one goroutine at a time.
type Engine struct {
	cfg    Config
	now    time.Duration
	qps    map[ib.QPN]*QP
	groups map[ib.MGID][]*QP
	last   ib.QPN
	timers timers
	out    output
	acking []*QP          // that have to acknowledge something
	in     packet.Headers // of the packet that is looked at
	head   packet.Headers // of the one that is made
	grh    [verbs.GRHSize]byte

	// Stats counts what happened.
	Stats Stats
}

// Stats counts packets and what went wrong with them.
type Stats struct {
	Sent, Received, Malformed, Refused uint64 // packets; refused are those for nobody
	Resent, Timeouts, Duplicates, Gaps uint64
}

// New makes an engine.
func New(c Config) *Engine {
	e := &Engine{cfg: c, qps: map[ib.QPN]*QP{}, groups: map[ib.MGID][]*QP{}, last: ib.QPN(c.Random.Uint32N(1<<23) + 16)}
	e.out.room(c.MaxMTU.Bytes())
	return e
}

// Tell tells the time.
func (e *Engine) Tell(now time.Duration) { e.now = max(e.now, now) }

// Advance tells the time, and runs the timers that are due. What has come should be
// given to Receive before that: who is late with both would take what was answered
// for lost.
func (e *Engine) Advance(now time.Duration) {
	e.Tell(now)
	for {
		q := e.timers.due(e.now)
		if q == nil {
			return
		}
		q.expired()
	}
}

// Next is when Advance has to be called next.
func (e *Engine) Next() (at time.Duration, some bool) { return e.timers.first() }

// Receive takes packets that came. Nothing of them is kept.
func (e *Engine) Receive(batch []Packet) {
	for i := range batch {
		e.receive(&batch[i])
	}
}

func (e *Engine) receive(p *Packet) {
	e.Stats.Received++
	h := &e.in
	payload, err := h.Parse(p.Data)
	if err != nil {
		e.Stats.Malformed++
		return
	}
	if h.BTH.QPN == ib.MulticastQPN {
		e.receiveGroup(p, payload)
		return
	}
	q := e.qps[h.BTH.QPN]
	if q == nil || !q.accepts(p, h) {
		e.Stats.Refused++
		return
	}
	op := h.BTH.Opcode.Operation()
	switch {
	case q.Attr.Type == verbs.UD:
		q.datagram(p, h, payload)
	case q.Attr.Type == verbs.UC:
		q.unreliable(h, payload)
	case op >= packet.ReadResponseFirst && op <= packet.AtomicAcknowledge:
		q.answered(h, payload)
	default:
		q.requested(h, payload)
	}
}

// Flush sends the acknowledgements that are due, and all packets.
func (e *Engine) Flush() {
	for _, q := range e.acking {
		q.acknowledge()
	}
	e.acking = e.acking[:0]
	e.emit()
}

// Emit sends all packets but the acknowledgements that are due.
func (e *Engine) Emit() { e.emit() }

// Owes tells whether there are such.
func (e *Engine) Owes() bool { return len(e.acking) > 0 }

// services are the opcodes' by type.
var services = [...]packet.Opcode{verbs.RC: packet.RC, verbs.UC: packet.UC, verbs.UD: packet.UD}

// accepts tells whether a packet may be for a QP: of its service, from its peer,
// and of its partition.
func (q *QP) accepts(p *Packet, h *packet.Headers) bool {
	switch {
	case !q.receives() || h.BTH.Opcode.Service() != services[q.Attr.Type] || !h.BTH.PKey.Matches(q.Attr.PKey):
		return false
	case q.Attr.Type == verbs.UD:
		return true
	default:
		return p.Path.from(&q.path)
	}
}

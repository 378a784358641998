package sim

import (
	"fmt"
	"time"

	"heddle/ib"
	"heddle/verbs"
)

// Faults are what goes wrong by chance. The zero value is nothing.
type Faults struct {
	// Loss and Duplicate are how likely a packet is lost, or comes twice, and
	// NotReady how likely a device finds no receive though one is posted.
	Loss, Duplicate, NotReady float64
	// Jitter is how much later than Config.Delay a packet comes at most.
	Jitter time.Duration
}

func (f Faults) valid() bool {
	for _, p := range []float64{f.Loss, f.Duplicate, f.NotReady} {
		if !(p >= 0 && p <= 1) {
			return false
		}
	}
	return f.Jitter >= 0
}

// Fault is what goes wrong once.
type Fault uint8

// The faults.
const (
	Drop       Fault = iota + 1 // the packet is lost
	Corrupt                     // the packet comes, but its checksum is wrong: it is lost
	FailQP                      // the packet is lost, and its QP goes into error
	FailDevice                  // the packet is lost, and its device dies
)

// injection is a Fault that is to come.
type injection struct {
	qp     *qp
	epoch  uint32
	packet int // from now on, counted down
	what   Fault
}

// Impair changes the faults by chance from now on.
func (n *Network) Impair(f Faults) error {
	if !f.valid() {
		return fmt.Errorf("impair: %w", verbs.ErrInvalid)
	}
	n.enter()
	defer n.leave()
	n.faults = f
	return nil
}

// Inject has the packet-th packet that a QP sends from now on, counted from 1
// and with acknowledgements, meet a fault.
func (n *Network) Inject(of verbs.QP, packet int, what Fault) error {
	q, ok := of.(*qp)
	if !ok || q.pd.ctx.net != n || packet < 1 || what < Drop || what > FailDevice {
		return fmt.Errorf("inject a fault: %w", verbs.ErrInvalid)
	}
	n.enter()
	defer n.leave()
	n.injected = append(n.injected, injection{q, q.epoch, packet, what})
	return nil
}

// impair decides what becomes of a packet.
func (n *Network) impair(p *packet) (lost, again bool) {
	if len(n.injected) > 0 {
		if what := n.due(p.src); what != 0 {
			n.befall(p, what)
			return true, false
		}
	}
	if n.chance(n.faults.Loss) {
		n.trace(p, "lost")
		return true, false
	}
	return false, n.chance(n.faults.Duplicate)
}

// due is the fault that a packet of a QP meets now.
func (n *Network) due(q *qp) (what Fault) {
	kept := n.injected[:0]
	for _, i := range n.injected {
		if i.qp == q && i.epoch == q.epoch {
			i.packet--
		}
		if i.packet == 0 {
			what = max(what, i.what)
			continue
		}
		kept = append(kept, i)
	}
	n.injected = kept
	return what
}

// befall does it. What concerns more than the packet happens after all that is
// being done now.
func (n *Network) befall(p *packet, what Fault) {
	switch what {
	case Drop:
		n.trace(p, "dropped")
	case Corrupt:
		n.trace(p, "corrupted")
	case FailQP:
		n.schedule(event{at: n.now, kind: qpFault, qp: p.src, epoch: p.src.epoch})
	case FailDevice:
		n.schedule(event{at: n.now, kind: deviceFault, qp: p.src, epoch: p.src.epoch})
	}
}

// Stats count what a QP or a device did.
type Stats struct {
	// Posted are the requests by operation, OpRecv the receives; those of an SRQ
	// are the device's only.
	Posted [verbs.OpRecvWriteImm + 1]uint64
	// Packets are those that carry requests, data or results, Bytes what they
	// carry. Of a READ's request there is one, however long the READ is.
	Packets, Bytes uint64
	// Crossings are all packets, acknowledgements too.
	Crossings uint64
}

// Requests is all that was posted, to send and to receive.
func (s *Stats) Requests() (sum uint64) {
	for _, n := range s.Posted {
		sum += n
	}
	return sum
}

// StatsOf are the counts of a QP of this package; the zero value for another.
func StatsOf(of verbs.QP) Stats {
	q, ok := of.(*qp)
	if !ok {
		return Stats{}
	}
	q.net.mu.Lock()
	defer q.net.mu.Unlock()
	return q.stats
}

// count counts a packet that is sent.
func (q *qp) count(p *packet) {
	if p.kind == request && p.op == verbs.OpRead && !p.first() {
		return // of the same request
	}
	for _, s := range []*Stats{&q.stats, &q.pd.ctx.dev.stats} {
		s.Crossings++
		if p.kind == request || p.kind == answer || p.kind == datagram {
			s.Packets++
			s.Bytes += uint64(len(p.data))
		}
	}
}

// posted counts a request.
func (q *qp) posted(op verbs.Op) {
	q.stats.Posted[op]++
	q.pd.ctx.dev.stats.Posted[op]++
}

// Step is something that happened, as a trace tells it. It says nothing of
// addresses and keys, which differ from run to run.
type Step struct {
	At       time.Duration
	What     string
	Device   string
	QPN, To  ib.QPN
	Op       verbs.Op
	Kind     string // of the packet
	Sequence uint64
	Length   int // of the payload
}

func (s Step) String() string {
	return fmt.Sprintf("%v %s QP %d to %d: %s %v #%d of %d bytes %s", s.At, s.Device, s.QPN, s.To, s.Kind, s.Op, s.Sequence, s.Length, s.What)
}

func (k packetKind) String() string {
	names := [...]string{"request", "datagram", "ack", "answer", "nak", "pull"}
	if int(k) < len(names) {
		return names[k]
	}
	return fmt.Sprintf("packetKind(%d)", k)
}

// trace tells of a packet, by the end that does something.
func (n *Network) trace(p *packet, what string) {
	if n.cfg.Trace == nil {
		return
	}
	n.cfg.Trace(Step{
		At: n.time(), What: what, Device: p.src.pd.ctx.dev.name, QPN: p.src.number, To: p.dst.number,
		Op: p.op, Kind: p.kind.String(), Sequence: p.seq, Length: len(p.data),
	})
}

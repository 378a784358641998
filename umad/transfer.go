package umad

import (
	"time"

	"heddle/ib"
	"heddle/mad"
)

// What follows runs RMPP for devices that do not. A transfer is one end of one
// message; a state machine of package mad makes its decisions.

const (
	// maxStrangers is how many requests of others are put together at once,
	// maxRequest how long each may be.
	maxStrangers = 64
	maxRequest   = 1 << 20
	// maxHeld is how many bytes all transfers hold together.
	maxHeld = 256 << 20
	// linger is how long a receiver answers a peer whose last ACK was lost, and
	// maxLingering how many do.
	linger       = 10 * time.Second
	maxLingering = 4096
)

// machine is a mad.RMPPSender or a mad.RMPPReceiver.
type machine interface {
	Step(now time.Duration, in *mad.Datagram, out []mad.Datagram) []mad.Datagram
	Abort(status mad.RMPPStatus, out []mad.Datagram) []mad.Datagram
	Deadline() (at time.Duration, ok bool)
	Over() bool
	Err() error
}

// transferKey tells transfers apart. Those of our own requests and their
// answers have the part of the ID that is ours, those of others the whole ID
// and where it came from.
type transferKey struct {
	ours   bool
	class  mad.Class
	method mad.Method // of the segments
	tid    uint64
	lid    ib.LID
	qpn    ib.QPN
	gid    ib.GID
}

// transfer is guarded by the Port's lock.
type transfer struct {
	key     transferKey
	address Address
	grh     GRH
	machine machine
	t       *transaction // whose request or answer it is; nil for others
	alarm   alarm
	held    int  // bytes, of Port.held
	counted bool // in the peer's share
	strange bool // counts in Port.strangers, too
}

// usesRMPP tells whether a message is to be sent by RMPP.
func usesRMPP(data []byte) bool {
	offset, ok := mad.RMPPOffset(mad.Class(data[1]))
	if !ok || len(data) < offset {
		return false
	}
	h, err := mad.ParseRMPPHeader(data[headerLen:])
	return err == nil && h.Flags&mad.RMPPActive != 0
}

// isSegment tells whether what came belongs to a transfer.
func isSegment(data []byte) bool {
	if !usesRMPP(data) {
		return false
	}
	h, err := mad.ParseRMPPHeader(data[headerLen:])
	return err == nil && !h.Unsegmented()
}

// isWhole tells whether what came is as long as it has to be.
func isWhole(data []byte, rmpp bool) bool {
	return len(data) == mad.Size || rmpp && usesRMPP(data)
}

func (p *Port) usesRMPP(m *Message) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := p.classes[keyOf(m.Data)]
	return c != nil && c.rmpp
}

// segment takes a datagram of a transfer.
func (p *Port) segment(m *Message) {
	d := (*mad.Datagram)(m.Data)
	p.mu.Lock()
	if x := p.transferOf(m, d); x != nil {
		p.step(x, d)
		return
	}
	p.mu.Unlock()
	if h := d.RMPP(); !d.IsResponse() && h.Type == mad.RMPPData && h.Data1 == 1 {
		p.refuseTransfer(m)
	} else {
		p.counters.stray.Add(1)
	}
}

// refuseTransfer answers the first segment of a request that is not taken.
func (p *Port) refuseTransfer(m *Message) {
	p.mu.Lock()
	h, status := p.handlerOf(m)
	p.mu.Unlock()
	if h != nil {
		status = mad.StatusBusy
	}
	p.refuse(m, status)
}

// transferOf is the transfer that a datagram belongs to, which its first segment
// begins. The lock is held.
func (p *Port) transferOf(m *Message, d *mad.Datagram) *transfer {
	h := d.RMPP()
	if h.Type != mad.RMPPData {
		if x := p.transfers[transferKeyOf(m, d.Method()^0x80)]; x != nil || h.Type == mad.RMPPAck {
			return x
		}
	}
	k := transferKeyOf(m, d.Method())
	if x := p.transfers[k]; x != nil || h.Type != mad.RMPPData || h.Data1 != 1 {
		return x
	}
	if k.ours {
		return p.beginAnswer(m, k)
	}
	return p.beginRequestOf(m, k)
}

// transferKeyOf is the key of the transfer with segments of a method that m, of
// whatever method, came for.
func transferKeyOf(m *Message, method mad.Method) transferKey {
	d := m.Datagram()
	k := transferKey{ours: d.IsResponse(), class: d.Class(), method: method, tid: d.TID()}
	if k.ours {
		k.tid = uint64(uint32(k.tid))
		return k
	}
	k.peer(m)
	return k
}

// peer makes k the key of a transfer of somebody else's request.
func (k *transferKey) peer(m *Message) {
	k.lid, k.qpn = m.LID, m.QPN
	if m.GRH != nil {
		k.gid = m.GRH.GID
	}
}

// beginAnswer begins to receive the answer to one of our requests.
func (p *Port) beginAnswer(m *Message, k transferKey) *transfer {
	t := p.table.get(shortTID(m))
	if t == nil || !t.isAnswer(m) {
		return nil
	}
	if t.transfer != nil {
		p.forget(t.transfer) // of the request: it did arrive
	}
	r := mad.NewRMPPReceiver(mad.RMPPOptions{MaxBytes: t.limit})
	return p.begin(k, m.Address, r, t)
}

// beginRequestOf begins to receive a request of somebody else.
func (p *Port) beginRequestOf(m *Message, k transferKey) *transfer {
	if h, _ := p.handlerOf(m); h == nil || p.strangers >= maxStrangers {
		return nil
	}
	if s := p.shares[k.lid]; s != nil && (s.receiving >= maxPeerStrangers || s.transfers >= maxPeerTransfers) {
		return nil
	}
	x := p.begin(k, m.Address, mad.NewRMPPReceiver(mad.RMPPOptions{MaxBytes: maxRequest}), nil)
	p.enter(x, true)
	return x
}

// begin adds a transfer, of t if that is not nil. The lock is held.
func (p *Port) begin(k transferKey, a Address, mach machine, t *transaction) *transfer {
	x := &transfer{key: k, address: a, machine: mach, t: t}
	if a.GRH != nil {
		x.grh = *a.GRH
		x.address.GRH = &x.grh
	}
	x.alarm.x = x
	p.transfers[k] = x
	if t != nil {
		p.alarms.drop(&t.alarm)
		t.transfer = x
	}
	p.counters.transfers.Add(1)
	return x
}

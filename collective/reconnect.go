package collective

import (
	"context"
	"time"

	"heddle/verbs"
)

// A connection ends when a request was sent eight times in vain: because the peer is
// dead, or because the network lost too much. Who sees that calls the peer by the
// multicast group, with the words for a new connection, until the peer has answered
// with its own, or has been silent for so long that it counts as dead:
//
//	caller   QP to RESET, INIT     -- call: number, endpoint -->
//	peer     QP to RESET, INIT, connected
//	caller   connected             <-- answer: number, endpoint --
//
// Of two that call each other the one of the lower rank goes on, and the other one
// answers. Each number is answered once; who is called again by the same number says
// the same again.
type reconnect struct {
	posted  int // requests that have not completed
	down    bool
	calling bool
	want    uint64 // the number of the call
	number  uint64 // of the connection that is
	reply   []byte // what was answered to that number

	since, next time.Time
	pause       time.Duration
}

const (
	firstCall = 2 * time.Millisecond
	lastCall  = 64 * time.Millisecond
	// leastPatience is how long a peer is called at least, before it counts as
	// dead; it is called as long as a request waits for its answer otherwise.
	leastPatience = time.Second
	// callInline is how long a call is at most.
	callInline = 256
)

// broke is told that a request to a peer failed.
func (g *Group) broke(p *peer) {
	switch {
	case p.gone || p.calling:
	case g.ud == nil || g.ud.inline < callInline:
		p.gone = true
	default:
		p.down, p.calling, p.want = true, true, p.number+1
		p.since, p.next, p.pause = time.Now(), time.Time{}, firstCall
		g.callers++
	}
}

// call repeats the calls that are due.
func (g *Group) call() {
	if g.callers == 0 {
		return
	}
	now := time.Now()
	for _, p := range g.peers {
		switch {
		case p == nil || !p.calling || now.Before(p.next):
		case now.Sub(p.since) > max(8*g.cfg.Timeout, leastPatience):
			p.gone, p.calling = true, false
			g.callers--
		case p.posted > 0: // they are being flushed
		default:
			g.callOnce(p, now)
		}
	}
}

func (g *Group) callOnce(p *peer, now time.Time) {
	if p.next.IsZero() && !renew(p.qp) {
		p.gone, p.calling = true, false
		g.callers--
		return
	}
	p.next, p.pause = now.Add(p.pause), min(2*p.pause, lastCall)
	g.ud.control(callFlag, p.rank, p.want, p.qp.Endpoint())
}

// renew makes a queue pair as new.
func renew(qp verbs.QP) bool {
	state, err := qp.State()
	if err == nil && state != verbs.Err && state != verbs.Reset {
		err = qp.Modify(verbs.Err)
	}
	if err == nil && state != verbs.Reset {
		err = qp.Modify(verbs.Reset)
	}
	return err == nil && qp.Modify(verbs.Init) == nil
}

// nextCall is when something has to be said; zero for nothing.
func (g *Group) nextCall() (at time.Time) {
	if g.callers == 0 {
		return at
	}
	for _, p := range g.peers {
		if p != nil && p.calling && (at.IsZero() || p.next.Before(at)) {
			at = p.next
		}
	}
	if at.IsZero() {
		at = time.Now().Add(firstCall)
	}
	return at
}

// called is a call of a peer.
func (g *Group) called(p *peer, number uint64, endpoint []byte) {
	switch {
	case p.gone || p.calling && g.rank < p.rank:
	case number == p.number && p.reply != nil:
		g.ud.control(answerFlag, p.rank, number, p.reply)
	case number <= p.number:
	case p.posted > 0:
		_ = p.qp.Modify(verbs.Err) // the call comes again when they are flushed
	default:
		if !renew(p.qp) {
			return
		}
		reply := p.qp.Endpoint()
		if g.reconnected(p, number, endpoint) {
			p.reply = reply
			g.ud.control(answerFlag, p.rank, number, reply)
		}
	}
}

// answered is the answer to a call.
func (g *Group) answered(p *peer, number uint64, endpoint []byte) {
	if p.calling && number == p.want && p.posted == 0 && !p.next.IsZero() {
		g.reconnected(p, number, endpoint)
		p.reply = nil
	}
}

// connectLimit is how long a connection may take, of devices that ask the peer.
const connectLimit = time.Second

func (g *Group) reconnected(p *peer, number uint64, endpoint []byte) bool {
	ctx, cancel := context.WithTimeout(context.Background(), connectLimit)
	defer cancel()
	if p.qp.Connect(ctx, endpoint) != nil {
		return false // the words make no sense, and the next ones may
	}
	if p.calling {
		g.callers--
	}
	p.number, p.calling, p.down = number, false, false
	g.stats.reconnects.Add(1)
	for _, s := range g.streams {
		if s != nil {
			s.due = true
			if s.root == p.rank {
				s.tell(true) // what was told may not have come
			}
		}
	}
	return true
}

// control sends a word to one rank, by the group. Where the device is busy it is
// lost, as others are.
func (d *datagrams) control(flag uint16, to int, number uint64, words []byte) {
	if d.full() || len(words) > callInline-headerSize {
		return
	}
	h := header{group: d.g.number, root: uint16(d.g.rank), flags: flag, seq: number, total: uint64(to), n: uint32(len(words))}
	b := append(h.appendTo(make([]byte, 0, callInline), words), words...)
	wr := verbs.SendWR{
		Op: verbs.OpSend, Flags: verbs.Inline, InlineData: b, AH: d.ah, RemoteQPN: multicastQPN, RemoteQKey: d.to.QKey,
	}
	d.post(&wr)
}

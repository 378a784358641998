package soft

import (
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"heddle/ib"
	"heddle/verbs"
	"heddle/verbs/internal/queue"
	"heddle/verbs/soft/internal/engine"
)

// port is an engine with its link and its time. All objects of its contexts are
// guarded by mu; who holds it calls enter first and leave last.
type port struct {
	name    string
	link    Link
	net     *Network // nil for real time
	begin   time.Time
	regions queue.Regions
	poller  poller      // the link, where it can be polled; nil otherwise
	owing   atomic.Bool // something was put off; changed with mu held

	mu     sync.Mutex
	engine *engine.Engine // guarded by mu, as all below
	pds    uint32
	timer  *time.Timer
	armed  time.Duration // when timer runs out; 0 is never
	unsaid int           // packets that came and may not be acknowledged yet
	news   chan struct{} // closed when packets came; nil where nobody waits
	shut   bool
}

// poller is a Link on which who waits can look for packets at once, without a
// goroutine between, and need not wait for the goroutine of the link.
type poller interface {
	// poll takes what is there, and tells whether there was something.
	poll() bool
	// sleep tells that somebody waits for what the link's goroutine brings, wake that
	// this is over.
	sleep()
	wake()
}

func newPort(name string, link Link, n *Network) (*port, error) {
	p := &port{name: name, link: link, net: n, begin: time.Now()}
	p.engine = engine.New(engine.Config{
		Regions: &p.regions, Send: link.Send, Tell: tell, MaxMTU: ib.MTU4096,
		Random: rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64())),
	})
	if n == nil {
		p.timer = time.AfterFunc(time.Hour, func() { p.expired(0) })
		p.timer.Stop()
	}
	p.poller, _ = link.(poller)
	if err := link.Start(p.receive); err != nil {
		return nil, errors.Join(err, link.Close())
	}
	return p, nil
}

// tell is the engine's: it adds an event of a QP.
func tell(t verbs.EventType, q *engine.QP) {
	if owner, ok := q.Owner.(*qp); ok {
		owner.pd.ctx.tell(verbs.Event{Type: t, QP: owner, QPN: q.QPN()})
	}
}

func (p *port) now() time.Duration {
	if p.net != nil {
		return p.net.Now()
	}
	return time.Since(p.begin)
}

// enter takes the lock, and has the engine know the time.
func (p *port) enter() {
	p.mu.Lock()
	p.engine.Tell(p.now())
}

// leave sends what there is to send, sets the timer, and gives the lock back.
func (p *port) leave() {
	p.engine.Flush()
	p.owing.Store(false)
	p.unsaid = 0
	p.setTimer()
	p.mu.Unlock()
}

// patient is after how long is sent what was put off.
const patient = time.Millisecond

// linger is leave, but acknowledgements wait until somebody leaves, or polls in
// vain: then who polls has what came at once, and its answer goes out together
// with them.
func (p *port) linger() {
	p.engine.Emit()
	p.owing.Store(p.engine.Owes())
	p.setTimer()
	p.mu.Unlock()
}

// posted is leave after requests were posted. While much is under way already, the
// next packets are gathered, to be sent by one call: what is under way brings an
// acknowledgement, with which they are sent, if not before.
func (p *port) posted(q *engine.QP) {
	if p.poller == nil || !q.Gathers() {
		p.leave()
		return
	}
	p.owing.Store(true)
	p.setTimer()
	p.mu.Unlock()
}

// setTimer has expired be called when the engine wants it.
func (p *port) setTimer() {
	at, some := p.engine.Next()
	if p.owing.Load() {
		if late := p.now() + patient; !some || late < at {
			at, some = late, true
		}
	}
	if !some || p.shut || p.armed != 0 && p.armed <= at {
		return
	}
	p.armed = at
	if p.net != nil {
		p.net.wake(p, at)
		return
	}
	p.timer.Reset(max(0, at-p.now()))
}

// expired runs the timers that are due. In virtual time it is told which moment
// it is of, as one that was set anew cannot be stopped.
func (p *port) expired(at time.Duration) {
	p.mu.Lock()
	if at != 0 && at != p.armed {
		p.mu.Unlock()
		return
	}
	p.armed = 0
	if !p.shut {
		p.engine.Advance(p.now())
	}
	p.leave()
}

// receive takes what the link brings. A link that is a poller calls it with nothing
// when it is done for now: then acknowledgements are sent that were put off.
func (p *port) receive(batch []Packet) {
	if len(batch) == 0 && !p.owing.Load() {
		return
	}
	p.enter()
	if !p.shut {
		p.engine.Receive(batch)
		if p.news != nil {
			close(p.news)
			p.news = nil
		}
	}
	p.unsaid += len(batch)
	if p.poller == nil || len(batch) == 0 || p.unsaid >= many {
		p.leave()
		return
	}
	p.linger()
}

// settle sends what was put off.
func (p *port) settle() {
	if p.owing.Load() {
		p.enter()
		p.leave()
	}
}

// many packets are acknowledged at once.
const many = 64

// poll has the link look for packets.
func (p *port) poll() {
	if !p.poller.poll() {
		p.settle()
	}
}

// changed is closed when memory may have changed.
func (p *port) changed() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.news == nil {
		p.news = make(chan struct{})
	}
	return p.news
}

func (p *port) close() error {
	p.mu.Lock()
	p.shut = true
	if p.timer != nil {
		p.timer.Stop()
	}
	p.mu.Unlock()
	return p.link.Close()
}

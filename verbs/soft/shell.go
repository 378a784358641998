package soft

import (
	"errors"
	"math/rand/v2"
	"sync"
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
	poller  poller // the link, where it can be polled; nil otherwise

	mu     sync.Mutex
	engine *engine.Engine // guarded by mu, as all below
	pds    uint32
	timer  *time.Timer
	armed  time.Duration // when timer runs out; 0 is never
	news   chan struct{} // closed when packets came; nil where nobody waits
	shut   bool
}

// poller is a Link on which who waits can look for packets at once: those who poll
// a CQ again and again would keep the goroutine of the link from running.
type poller interface{ poll() }

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
	p.setTimer()
	p.mu.Unlock()
}

// setTimer has expired be called when the engine wants it.
func (p *port) setTimer() {
	at, some := p.engine.Next()
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

// receive takes what the link brings.
func (p *port) receive(batch []Packet) {
	p.enter()
	defer p.leave()
	if p.shut {
		return
	}
	p.engine.Receive(batch)
	if p.news != nil {
		close(p.news)
		p.news = nil
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

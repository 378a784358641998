package replica

import (
	"errors"
	"fmt"
	"time"

	"heddle/sm/store"
)

// Role is what a node does.
type Role uint8

// The roles.
const (
	Follower Role = iota
	Leader
)

// String names the role.
func (r Role) String() string {
	switch r {
	case Follower:
		return "follower"
	case Leader:
		return "leader"
	default:
		return fmt.Sprintf("Role(%d)", uint8(r))
	}
}

// The errors of a node.
var (
	// ErrNotLeader means that the node does not lead, or does not any more: a
	// batch that waited may be kept or not.
	ErrNotLeader = errors.New("this manager does not lead")
	// ErrNotReplicated means that too few followers had the batch in time.
	ErrNotReplicated = errors.New("not with enough followers in time")
	// ErrStopped means that the node does not run any more.
	ErrStopped = errors.New("replication has ended")
)

// errPeer is the class of what a peer may not do.
var errPeer = errors.New("against the protocol")

// core is what a node knows. It has no clock, connection or goroutine: events
// go in with the time, and what is to be done comes out of next, effects and
// answers.
type core struct {
	config   Config
	role     Role
	epoch    uint64         // the highest that this node saw
	last     store.Position // accepted by the store
	durable  store.Position // kept by it
	log      log
	sessions []*session
	waiting  []waiter // in the order of their positions
	degraded bool     // too few followers; batches do not wait for them
	beat     time.Time

	effects []effect
	answers []answer
	counts  Counts
}

// effect is what the shell has to do: what is set beside the session.
type effect struct {
	session *session
	promise uint64       // to be kept; then promised is called
	copy    bool         // of the state; then copied is called
	keep    *store.Batch // of the leader in epoch; then committed is called
	epoch   uint64
	deposed uint64 // the epoch
	cause   error  // of that
	wake    bool   // the session has something to send
	drop    error  // the session
}

type answer struct {
	done   func(store.Result)
	result store.Result
}

// waiter is a batch of the leader that is not acknowledged yet.
type waiter struct {
	answer
	deadline time.Time
}

// session is one connection to a peer.
type session struct {
	peer    uint16
	dialled bool // by this node, which may follow on it
	greeted bool
	dropped bool
	heard   time.Time
	said    message // the latest status of the peer

	hello, status, ack bool // to be sent

	follow followState
	feed   feedState
}

func newCore(c Config, s Store) *core {
	last := s.Last()
	return &core{
		config: c, epoch: max(s.Promised(), last.Epoch), last: last, durable: s.Position(),
		log: log{base: last, limit: c.Log},
	}
}

// open begins a session. Another one of the same kind with the same peer was
// lost, and the peer knows it.
func (c *core) open(now time.Time, peer uint16, dialled bool) *session {
	for _, s := range c.sessions {
		if s.peer == peer && s.dialled == dialled {
			c.drop(s, errors.New("the peer made a new connection"))
		}
	}
	s := &session{peer: peer, dialled: dialled, heard: now, hello: true}
	c.sessions = append(c.sessions, s)
	c.wake(s)
	return s
}

// close ends a session; the connection is gone.
func (c *core) close(s *session) {
	s.dropped = true
	s.follow, s.feed = followState{}, feedState{}
	for i, other := range c.sessions {
		if other == s {
			c.sessions = append(c.sessions[:i], c.sessions[i+1:]...)
			return
		}
	}
}

// drop gives a session up.
func (c *core) drop(s *session, why error) {
	if !s.dropped {
		s.dropped = true
		c.counts.Drops++
		c.effects = append(c.effects, effect{session: s, drop: why})
	}
}

func (c *core) wake(s *session) { c.effects = append(c.effects, effect{session: s, wake: true}) }

// announce has all peers told what changed here.
func (c *core) announce() {
	for _, s := range c.sessions {
		s.status = true
		c.wake(s)
	}
}

// receive takes a message. What it refers to must not be changed.
func (c *core) receive(now time.Time, s *session, m *message) {
	if s.dropped {
		return
	}
	s.heard = now
	if err := c.dispatch(now, s, m); err != nil {
		c.drop(s, err)
	}
}

func (c *core) dispatch(now time.Time, s *session, m *message) error {
	if s.greeted == (m.kind == kindHello) {
		return fmt.Errorf("%w: message of kind %d out of order", errPeer, m.kind)
	}
	switch m.kind {
	case kindHello, kindStatus:
		s.greeted, s.said = true, *m
		c.see(m.epoch)
		c.considerFollowing(s)
		return nil
	case kindFollow:
		return c.feedFrom(s, m.at)
	case kindAck:
		return c.acked(now, s, m.at)
	default:
		return c.part(s, m)
	}
}

// see takes note of an epoch. One that is higher than a leader's deposes it.
func (c *core) see(epoch uint64) {
	if epoch <= c.epoch {
		return
	}
	c.epoch = epoch
	if c.role == Leader {
		c.stepDown()
		c.effects = append(c.effects, effect{deposed: epoch, cause: fmt.Errorf("replica: another leads in epoch %d: %w", epoch, ErrNotLeader)})
	}
	for _, s := range c.sessions {
		s.follow = followState{}
	}
	c.announce()
}

// stepDown makes a leader a follower. What its clients wait for may be kept by
// the next leader, or not.
func (c *core) stepDown() {
	c.role = Follower
	for _, w := range c.waiting {
		w.result.Err = ErrNotLeader
		c.answers = append(c.answers, w.answer)
	}
	c.waiting, c.degraded = nil, false
	for _, s := range c.sessions {
		s.feed = feedState{}
	}
}

// stored takes note that the store has kept all batches until one.
func (c *core) stored(now time.Time, at store.Position) {
	c.durable = at
	if c.role == Leader {
		c.settle(now)
		return
	}
	for _, s := range c.sessions {
		if s.follow.state == followFed {
			s.ack = true
			c.wake(s)
		}
	}
}

// failed takes note that the store keeps nothing more. A leader cannot lead
// then.
func (c *core) failed(why error) {
	for i := range c.waiting {
		c.waiting[i].result.Err = why
		c.answers = append(c.answers, c.waiting[i].answer)
	}
	c.waiting = nil
	if c.role == Leader {
		c.stepDown()
		c.effects = append(c.effects, effect{deposed: c.epoch, cause: why})
		c.announce()
	}
}

// reopened takes note of where the store is: one that was opened again after a
// failed write has lost what it had accepted and not kept.
func (c *core) reopened(last, durable store.Position) {
	if last.Index < c.last.Index {
		c.last, c.durable = last, durable
		c.log.reset(last)
	}
}

// tick does what is due, and tells when to come again.
func (c *core) tick(now time.Time) time.Time {
	if now.Sub(c.beat) >= c.config.Heartbeat {
		c.beat = now
		c.announce()
	}
	for _, s := range c.sessions {
		if now.Sub(s.heard) >= c.config.Dead {
			c.drop(s, fmt.Errorf("no word for %v", c.config.Dead))
		}
	}
	c.settle(now)
	next := c.beat.Add(c.config.Heartbeat)
	if len(c.waiting) > 0 && !c.waiting[0].deadline.Before(now) && c.waiting[0].deadline.Before(next) {
		next = c.waiting[0].deadline
	}
	return next
}

// next gives what a session has to send.
func (c *core) next(s *session) (message, bool) {
	switch {
	case s.dropped:
		return message{}, false
	case s.hello:
		s.hello = false
		return c.statusMessage(kindHello), true
	case s.status:
		s.status = false
		return c.statusMessage(kindStatus), true
	case s.follow.state == followPromised:
		s.follow = followState{state: followFed}
		s.ack = false // of what came before
		return message{kind: kindFollow, at: c.last}, true
	case s.ack:
		s.ack = false
		return message{kind: kindAck, at: c.durable}, true
	default:
		return c.nextPart(s)
	}
}

func (c *core) statusMessage(k kind) message {
	return message{kind: k, role: c.role, epoch: c.epoch, at: c.durable}
}

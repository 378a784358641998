package sm

import (
	"sync"

	"heddle/ib"
	"heddle/mad"
	"heddle/umad"
)

// asked are the requests to subnet administration that wait for a worker. Each
// client, told by its LID, has its turn, so that one with very many requests, or
// with very long ones, delays the others by little.
type asked struct {
	each int // requests of one client that may be worked on at once

	mu      sync.Mutex
	change  sync.Cond // on mu: there may be something to do, or it is over
	clients map[ib.LID]*asker
	turns   []ib.LID // clients with waiting requests, each once, the next one first
	waiting int
	waking  bool // a worker is being woken up
	over    bool

	free   []*umad.Message // to be used again, as what follows
	nobody []*asker
}

// asker is a client with requests that wait or are worked on.
type asker struct {
	waiting []*umad.Message
	working int
}

const (
	askedLimit  = 4096 // requests that wait
	askedByEach = 1024 // of them, those of one client
	// askedAtOnce is how many short requests a worker takes at once.
	askedAtOnce = 16
)

// newAsked is for so many workers: one client may have half of them.
func newAsked(workers int) *asked {
	a := &asked{each: max(1, workers/2), clients: map[ib.LID]*asker{}}
	a.change.L = &a.mu
	return a
}

// put takes a request, or tells that too many are waiting.
func (a *asked) put(msg *umad.Message) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	c := a.clients[msg.LID]
	if a.waiting >= askedLimit || c != nil && len(c.waiting) >= askedByEach {
		return false
	}
	if c == nil {
		c = a.newAsker()
		a.clients[msg.LID] = c
	}
	if len(c.waiting) == 0 {
		a.turns = append(a.turns, msg.LID)
	}
	c.waiting = append(c.waiting, a.copyOf(msg))
	a.waiting++
	a.wakeOne()
	return true
}

func (a *asked) newAsker() *asker {
	last := len(a.nobody) - 1
	if last < 0 {
		return &asker{}
	}
	c := a.nobody[last]
	a.nobody = a.nobody[:last]
	return c
}

// copyOf is a message of its own.
func (a *asked) copyOf(msg *umad.Message) *umad.Message {
	last := len(a.free) - 1
	if last < 0 || !isPlain(msg) {
		return msg.Clone()
	}
	c := a.free[last]
	a.free = a.free[:last]
	*c = umad.Message{Address: msg.Address, Data: append(c.Data[:0], msg.Data...)}
	return c
}

// isPlain tells whether a message is what most are, whose memory is used again.
func isPlain(m *umad.Message) bool { return len(m.Data) == mad.Size && m.GRH == nil && m.Err == nil }

// isShort tells whether a request is answered by one datagram, without anything
// having to be kept.
func isShort(m *umad.Message) bool { return m.Datagram().Method() == mad.MethodGet }

// wakeOne wakes one worker, and not the next before that one has taken what it
// can; mu is held.
func (a *asked) wakeOne() {
	if !a.waking {
		a.waking = true
		a.change.Signal()
	}
}

// take waits for requests, which it appends to list: one, or some short ones.
// done is to be told of them. None means that it is over.
func (a *asked) take(list []*umad.Message) []*umad.Message {
	a.mu.Lock()
	defer a.mu.Unlock()
	for ; !a.over; a.change.Wait() {
		a.waking = false
		for msg := a.next(false); msg != nil; msg = a.next(true) {
			if list = append(list, msg); len(list) == askedAtOnce || !isShort(msg) {
				break
			}
		}
		if len(list) == 0 {
			continue
		}
		if a.waiting > 0 {
			a.wakeOne()
		}
		return list
	}
	return list
}

// next gives the next request to a worker; mu is held.
func (a *asked) next(short bool) *umad.Message {
	for i, lid := range a.turns {
		if c := a.clients[lid]; c.working < a.each && (!short || isShort(c.waiting[0])) {
			a.turns = append(a.turns[:i], a.turns[i+1:]...)
			return a.begin(lid, c)
		}
	}
	return nil
}

// begin gives the client's first request to a worker; mu is held.
func (a *asked) begin(lid ib.LID, c *asker) *umad.Message {
	msg := c.waiting[0]
	c.waiting[0] = nil
	if len(c.waiting) == 1 {
		c.waiting = c.waiting[:0]
	} else {
		c.waiting = c.waiting[1:]
		a.turns = append(a.turns, lid)
	}
	c.working++
	a.waiting--
	return msg
}

// done says that requests were worked on. They must not be used after it.
func (a *asked) done(list []*umad.Message) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, msg := range list {
		c := a.clients[msg.LID]
		if c.working--; c.working == 0 && len(c.waiting) == 0 {
			delete(a.clients, msg.LID)
			a.nobody = append(a.nobody, c)
		}
		if isPlain(msg) && len(a.free) < askedAtOnce*askedAtOnce {
			a.free = append(a.free, msg)
		}
	}
	if a.waiting > 0 {
		a.wakeOne()
	}
}

// none tells whether nobody waits for a worker.
func (a *asked) none() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.waiting == 0
}

// open and end begin and end the time in which take waits.
func (a *asked) open() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.over = false
}

func (a *asked) end() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.over = true
	a.change.Broadcast()
}

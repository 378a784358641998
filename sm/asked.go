package sm

import (
	"sync"

	"heddle/ib"
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
	over    bool
}

// asker is a client with requests that wait or are worked on.
type asker struct {
	waiting []*umad.Message
	working int
}

const (
	askedLimit  = 4096 // requests that wait
	askedByEach = 1024 // of them, those of one client
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
		c = &asker{}
		a.clients[msg.LID] = c
	}
	if len(c.waiting) == 0 {
		a.turns = append(a.turns, msg.LID)
	}
	c.waiting = append(c.waiting, msg.Clone())
	a.waiting++
	a.change.Signal()
	return true
}

// none tells whether nobody waits for a worker.
func (a *asked) none() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.waiting == 0
}

// take waits for the next request, whose client done is to be told of; nil means
// that it is over.
func (a *asked) take() *umad.Message {
	a.mu.Lock()
	defer a.mu.Unlock()
	for !a.over {
		for i, lid := range a.turns {
			if c := a.clients[lid]; c.working < a.each {
				a.turns = append(a.turns[:i], a.turns[i+1:]...)
				return a.begin(lid, c)
			}
		}
		a.change.Wait()
	}
	return nil
}

// begin gives the client's first request to a worker; mu is held.
func (a *asked) begin(lid ib.LID, c *asker) *umad.Message {
	msg := c.waiting[0]
	c.waiting[0] = nil
	c.waiting = c.waiting[1:]
	if len(c.waiting) > 0 {
		a.turns = append(a.turns, lid)
	}
	c.working++
	a.waiting--
	return msg
}

// done says that a request of a client was worked on.
func (a *asked) done(lid ib.LID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	c := a.clients[lid]
	if c.working--; c.working == 0 && len(c.waiting) == 0 {
		delete(a.clients, lid)
	}
	a.change.Signal()
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

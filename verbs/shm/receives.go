//go:build linux && (amd64 || arm64)

package shm

import (
	"fmt"
	"slices"
	"sync"

	"heddle/verbs"
	"heddle/verbs/internal/queue"
)

// receives is a verbs.SRQ.
type receives struct {
	domain *domain
	sge    int

	mu     sync.Mutex
	posted *queue.Recvs // guarded by mu, as all below
	limit  int
	users  int
	hungry []*pair // that have messages and no buffer
	closed bool
}

func (d *domain) CreateSRQ(a verbs.SRQAttr) (verbs.SRQ, error) {
	a, err := a.Filled(limits)
	if err != nil {
		return nil, err
	}
	if err := d.adopt(); err != nil {
		return nil, err
	}
	return &receives{domain: d, sge: a.SGE, posted: queue.NewRecvs(a.WR, a.SGE)}, nil
}

func (s *receives) PostRecv(wr *verbs.RecvWR) error {
	s.mu.Lock()
	err := s.post(wr)
	s.feed()
	return err
}

// starve keeps a QP that there was no buffer for; true where there is one now.
func (s *receives) starve(q *pair) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.posted.Len() > 0 {
		return true
	}
	if !slices.Contains(s.hungry, q) {
		s.hungry = append(s.hungry, q)
	}
	return false
}

// feed gives up mu, and has the QPs that starve look for buffers. One that just
// begins to starve holds its lock still: pull would pass it by, and nobody would
// come again.
func (s *receives) feed() {
	hungry := s.hungry
	s.hungry = nil
	s.mu.Unlock()
	for _, q := range hungry {
		q.look()
	}
}

// post keeps a buffer; mu is held.
func (s *receives) post(wr *verbs.RecvWR) error {
	if s.closed {
		return &verbs.OpError{Verb: "post receive", ID: wr.ID, Err: verbs.ErrClosed}
	}
	if err := wr.Check(s.sge); err != nil {
		return err
	}
	return s.posted.Push(wr)
}

func (s *receives) PostRecvs(wrs []verbs.RecvWR) (n int, err error) {
	s.mu.Lock()
	for n < len(wrs) && err == nil {
		if err = s.post(&wrs[n]); err == nil {
			n++
		}
	}
	s.feed()
	return n, err
}

// take gives the oldest buffer to a QP.
func (s *receives) take(into *verbs.RecvWR) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	wr := s.posted.Front()
	if wr == nil {
		return false
	}
	into.ID, into.SGEs = wr.ID, append(into.SGEs[:0], wr.SGEs...)
	s.posted.Pop()
	if s.posted.Len() < s.limit {
		s.limit = 0
		s.domain.host.events.add(verbs.Event{Type: verbs.EventSRQLimit, SRQ: s})
	}
	return true
}

// room is that of the oldest buffer, which another QP may take first.
func (s *receives) room() (n int, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	wr := s.posted.Front()
	if wr == nil {
		return 0, false
	}
	return roomOf(wr), true
}

// roomOf is how many bytes a buffer has.
func roomOf(wr *verbs.RecvWR) (n int) {
	for i := range wr.SGEs {
		n += int(wr.SGEs[i].Length)
	}
	return n
}

// Limit implements verbs.SRQ.
func (s *receives) Limit(n int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return &verbs.OpError{Verb: "SRQ limit", Err: verbs.ErrClosed}
	}
	s.limit = n
	if s.posted.Len() < n {
		s.limit = 0
		s.domain.host.events.add(verbs.Event{Type: verbs.EventSRQLimit, SRQ: s})
	}
	return nil
}

func (s *receives) use(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.users += n
}

func (s *receives) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return nil
	case s.users > 0:
		return &verbs.OpError{Verb: fmt.Sprintf("close SRQ: %d QPs use it", s.users), Err: verbs.ErrBusy}
	}
	s.closed = true
	s.domain.disown()
	return nil
}

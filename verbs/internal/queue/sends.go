package queue

import "heddle/verbs"

// Sends are the posted requests of a send queue, in order, each a copy. It is
// not safe for several goroutines.
type Sends struct {
	ring  []verbs.SendWR
	first uint64
	next  uint64
}

// NewSends makes room for requests with that many SGEs and inline bytes each.
func NewSends(a *verbs.QPAttr) *Sends {
	s := &Sends{ring: make([]verbs.SendWR, a.SendWR)}
	sges, inline := make([]verbs.SGE, a.SendWR*a.SendSGE), make([]byte, a.SendWR*a.Inline)
	for i := range s.ring {
		s.ring[i].SGEs = sges[i*a.SendSGE : i*a.SendSGE : (i+1)*a.SendSGE]
		s.ring[i].InlineData = inline[i*a.Inline : i*a.Inline : (i+1)*a.Inline]
	}
	return s
}

// Len is how many requests are posted.
func (s *Sends) Len() int { return int(s.next - s.first) }

// Next is the number that the next request gets; they count from 0.
func (s *Sends) Next() uint64 { return s.next }

// First is the number of the oldest one.
func (s *Sends) First() uint64 { return s.first }

// Push copies a request that was checked; the error wraps ErrQueueFull.
func (s *Sends) Push(wr *verbs.SendWR) error {
	if s.Len() == len(s.ring) {
		return &verbs.OpError{Verb: "post", Op: wr.Op, ID: wr.ID, Got: s.Len() + 1, Limit: len(s.ring), Err: verbs.ErrQueueFull}
	}
	slot := s.at(s.next)
	sges, inline := append(slot.SGEs[:0], wr.SGEs...), slot.InlineData[:0]
	if wr.Flags&verbs.Inline != 0 {
		inline = append(inline, wr.InlineData...)
	}
	*slot = *wr
	slot.SGEs, slot.InlineData = sges, inline
	s.next++
	return nil
}

// At is a posted request by its number; it stays the queue's.
func (s *Sends) At(number uint64) *verbs.SendWR { return s.at(number) }

// Pop forgets the oldest request.
func (s *Sends) Pop() {
	slot := s.at(s.first)
	slot.AH, slot.MW, slot.BindMR = nil, nil, nil
	s.first++
}

func (s *Sends) at(number uint64) *verbs.SendWR { return &s.ring[number%uint64(len(s.ring))] }

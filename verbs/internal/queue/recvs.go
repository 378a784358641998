package queue

import "heddle/verbs"

// Recvs are posted buffers, in order, each a copy. It is not safe for several
// goroutines.
type Recvs struct {
	ring        []verbs.RecvWR
	first, next uint64
}

// NewRecvs makes room for buffers with that many SGEs each.
func NewRecvs(wrs, sges int) *Recvs {
	r := &Recvs{ring: make([]verbs.RecvWR, wrs)}
	flat := make([]verbs.SGE, wrs*sges)
	for i := range r.ring {
		r.ring[i].SGEs = flat[i*sges : i*sges : (i+1)*sges]
	}
	return r
}

// Len is how many buffers are posted.
func (r *Recvs) Len() int { return int(r.next - r.first) }

// Push copies a buffer that was checked; the error wraps ErrQueueFull.
func (r *Recvs) Push(wr *verbs.RecvWR) error {
	if r.Len() == len(r.ring) {
		return &verbs.OpError{Verb: "post receive", ID: wr.ID, Got: r.Len() + 1, Limit: len(r.ring), Err: verbs.ErrQueueFull}
	}
	slot := &r.ring[r.next%uint64(len(r.ring))]
	slot.ID, slot.SGEs = wr.ID, append(slot.SGEs[:0], wr.SGEs...)
	r.next++
	return nil
}

// Front is the oldest buffer, which stays the queue's; nil for none.
func (r *Recvs) Front() *verbs.RecvWR {
	if r.Len() == 0 {
		return nil
	}
	return &r.ring[r.first%uint64(len(r.ring))]
}

// Pop forgets the oldest buffer. Its slot is not written before Push came round
// once.
func (r *Recvs) Pop() { r.first++ }

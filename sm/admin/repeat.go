package admin

import (
	"bytes"
	"slices"
	"sync"
	"time"

	"heddle/mad"
)

// repeats are the latest requests that took something away, with what they were
// answered: whose answer gets lost asks again, and is to get the same one,
// though the thing is gone.
type repeats struct {
	mu   sync.Mutex
	at   map[repeatKey]int // guarded by mu, as what follows
	ring [1024]repeat
	next int
}

type repeatKey struct {
	from Requester
	tid  uint64
}

type repeat struct {
	key             repeatKey
	request, answer []byte
	when            time.Time
}

// repeatTime is how long a requester may take to ask again.
const repeatTime = time.Minute

// repeatable carries out a request that takes something away. Where that is not
// there any more because of the same request, it is answered as that was.
func (r *request) repeatable(change func() mad.Status) mad.Status {
	status := change()
	k := repeatKey{r.from, r.head.TID}
	switch status {
	case mad.StatusOK:
		r.server.repeats.add(repeat{k, slices.Clone(r.raw), slices.Clone(r.out[r.start+dataOffset:]), r.now})
	case mad.StatusSARequestInvalid, mad.StatusSANoRecords:
		if before, ok := r.server.repeats.get(k, r.raw, r.now); ok {
			r.out = append(r.out, before...)
			return mad.StatusOK
		}
	default: // not because it is gone
	}
	return status
}

func (p *repeats) add(done repeat) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.at == nil {
		p.at = map[repeatKey]int{}
	}
	if old := p.ring[p.next]; old.request != nil && p.at[old.key] == p.next {
		delete(p.at, old.key)
	}
	p.ring[p.next] = done
	p.at[done.key] = p.next
	p.next = (p.next + 1) % len(p.ring)
}

func (p *repeats) get(k repeatKey, request []byte, now time.Time) ([]byte, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	i, ok := p.at[k]
	if !ok || now.Sub(p.ring[i].when) > repeatTime || !bytes.Equal(p.ring[i].request, request) {
		return nil, false
	}
	return p.ring[i].answer, true
}

package replica

import (
	"time"

	"heddle/sm/store"
)

// log has the latest batches, encoded.
type log struct {
	base    store.Position // before the first of batches
	batches []logged
	bytes   int
	limit   int
}

type logged struct {
	at      store.Position
	encoded []byte
	when    time.Time
}

// reset begins a log after a position.
func (l *log) reset(base store.Position) { *l = log{base: base, limit: l.limit} }

// add adds the batch that follows, and forgets old ones beyond the limit, but
// for the last.
func (l *log) add(b logged) {
	l.batches = append(l.batches, b)
	l.bytes += len(b.encoded)
	drop := 0
	for l.bytes > l.limit && drop < len(l.batches)-1 {
		l.bytes -= len(l.batches[drop].encoded)
		l.base = l.batches[drop].at
		l.batches[drop] = logged{}
		drop++
	}
	l.batches = l.batches[drop:]
}

// has tells whether the position is one of this history.
func (l *log) has(p store.Position) bool {
	if p == l.base {
		return true
	}
	b := l.after(store.Position{Index: p.Index - 1})
	return b != nil && b.at == p
}

// after gives the batch with the next number, nil where it is not here.
func (l *log) after(p store.Position) *logged {
	if p.Index < l.base.Index || p.Index-l.base.Index >= uint64(len(l.batches)) {
		return nil
	}
	return &l.batches[p.Index-l.base.Index]
}

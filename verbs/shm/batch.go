//go:build linux && (amd64 || arm64)

package shm

import (
	"sync/atomic"

	"heddle/verbs"
)

// batch holds completions back until the lock is given up that they were made
// under, so that many cost little more than one.
type batch struct {
	cq        *completions
	closed    *atomic.Bool // the QP is: nothing comes of it any more
	wcs       []verbs.WC
	solicited bool
}

const batchSize = 64

func newBatch(cq *completions, closed *atomic.Bool) batch {
	return batch{cq: cq, closed: closed, wcs: make([]verbs.WC, 0, batchSize)}
}

func (b *batch) add(wc *verbs.WC, solicited bool) {
	if len(b.wcs) == batchSize {
		b.flush()
	}
	b.wcs = append(b.wcs, *wc)
	b.solicited = b.solicited || solicited
}

// flush adds them to the CQ, and wakes who waits for them.
func (b *batch) flush() {
	if len(b.wcs) == 0 {
		return
	}
	if !b.closed.Load() {
		b.cq.PushAll(b.wcs, b.solicited)
	}
	b.wcs, b.solicited = b.wcs[:0], false
	b.cq.host.bell.ring()
}

// doneSending gives up the send lock, or its mu: what was published and completed
// until then is told of now.
func (q *pair) doneSending() {
	if q.silent {
		q.silent = false
		if l := q.link.Load(); l != nil {
			l.bell.tell()
		}
	}
	q.sends.flush()
	q.sending.kept = q.posted.Len() > 0
	q.sending.Unlock()
}

// doneReceiving gives up the receive lock.
func (q *pair) doneReceiving() {
	q.recvs.flush()
	q.receiving.Unlock()
}

//go:build linux && (amd64 || arm64)

package shm

import (
	"encoding/binary"

	"heddle/ib"
	"heddle/verbs"
	"heddle/verbs/internal/queue"
)

// maxPull is how many records are taken from a ring at once.
const maxPull = 64

// PostRecv implements verbs.QP.
func (q *pair) PostRecv(wr *verbs.RecvWR) error {
	q.receiving.Lock()
	defer q.doneReceiving()
	err := q.postRecv(wr)
	if err == nil {
		q.host.bell.ring()
	}
	return err
}

// PostRecvs implements verbs.QP.
func (q *pair) PostRecvs(wrs []verbs.RecvWR) (n int, err error) {
	q.receiving.Lock()
	defer q.doneReceiving()
	for n < len(wrs) && err == nil {
		if err = q.postRecv(&wrs[n]); err == nil {
			n++
		}
	}
	if n > 0 {
		q.host.bell.ring()
	}
	return n, err
}

func (q *pair) postRecv(wr *verbs.RecvWR) error {
	state := q.now()
	switch {
	case q.closed.Load():
		return q.wrong("post receive", verbs.ErrClosed)
	case q.srq != nil:
		return q.wrong("post receive to a QP with an SRQ", verbs.ErrInvalid)
	case !queue.CanPostRecv(state):
		return q.wrong("post receive in "+state.String(), verbs.ErrState)
	}
	if err := wr.Check(q.attr.RecvSGE); err != nil {
		return err
	}
	if state == verbs.Err {
		q.received(&verbs.WC{ID: wr.ID, Status: verbs.StatusFlushed, Op: verbs.OpRecv}, false)
		return nil
	}
	if q.attr.Type != verbs.RC {
		q.drainAll() // what came before is lost
	}
	if err := q.buffers.Push(wr); err != nil {
		return err
	}
	if q.unready {
		q.drain()
	}
	return nil
}

// received makes a completion of a buffer.
func (q *pair) received(wc *verbs.WC, solicited bool) {
	wc.QPN = q.self.QPN
	q.recvs.add(wc, solicited)
}

// look takes what came in. Unlike after pull, nothing is left that was there when
// it was called, and has a buffer.
func (q *pair) look() {
	q.receiving.Lock()
	q.drainAll()
	q.doneReceiving()
	q.settle()
}

// drainAll takes all that came in. A peer that goes on writing is left alone when
// it had a ring full of the shortest messages.
func (q *pair) drainAll() {
	for range ringSize/recordAlign/maxPull + 1 {
		if !q.drain() {
			return
		}
	}
}

// drain takes what came in; false where that was nothing. Receiving is held.
func (q *pair) drain() (some bool) {
	if s := q.now(); s < verbs.RTR || s == verbs.Err {
		return false
	}
	if l := q.link.Load(); l != nil {
		for range maxPull {
			if !q.step(l) {
				break
			}
		}
		if q.show(l) {
			some = true
			l.bell.tell()
		}
	}
	for _, l := range q.guests {
		for range maxPull {
			if !q.stepDatagram(l) {
				break
			}
		}
		some = q.show(l) || some
	}
	return some
}

// show tells the peer what was taken, when it is in the CQ.
func (q *pair) show(l *link) bool {
	q.recvs.flush()
	return l.in.show()
}

// step takes a record; false where there is none, or nothing to put it in.
func (q *pair) step(l *link) bool {
	var rec record
	ok, err := l.in.peek(&rec)
	if !ok && err == nil {
		return false
	}
	sound := err == nil && q.sound(l, &rec)
	if rec.kind == lentKind && l.in.voided.Load() != 0 {
		return false // nor does what is behind it come any more
	}
	if !sound {
		return q.broken(l, verbs.StatusRemoteInvalidRequest, verbs.EventQPFatal)
	}
	first := rec.flags&firstFlag != 0
	if first {
		q.skipping, q.got = false, 0 // an unreliable message may have been cut off
	} else if !q.busy {
		q.skipping = true
	}
	if first && !q.busy && !q.take() {
		if q.attr.Type == verbs.RC {
			return q.starve(l)
		}
		q.skipping = true // an unreliable message is lost
	}
	if !q.skipping && !q.scatter(l, &rec) {
		return q.now() != verbs.Err
	}
	if rec.kind == lentKind && !l.in.holds() {
		return false
	}
	last := rec.flags&lastFlag != 0
	if last && !q.skipping {
		q.deliver(&rec)
	}
	if last {
		q.skipping, q.busy, q.got = false, false, 0
	}
	l.in.pop(&rec)
	if !last {
		q.show(l) // so that the peer has room for the rest
		l.bell.tell()
	}
	return true
}

// sound tells whether a record makes sense where it is. Of an unreliable message,
// the end may be missing, or the begin (IBTA 9.8.2.2).
func (q *pair) sound(l *link, rec *record) bool {
	first, reliable := rec.flags&firstFlag != 0, q.attr.Type == verbs.RC
	if reliable && first == (q.busy || q.skipping) {
		return false
	}
	switch rec.kind {
	case sendKind:
		return true
	case writeImmKind:
		return rec.n == 0 && first && rec.flags&lastFlag != 0
	case lentKind:
		return rec.n == 0 && reliable && l.findLent(rec)
	default:
		return false
	}
}

// starve tells the peer that there is no buffer for its message, unless one of
// the SRQ has come just now.
func (q *pair) starve(l *link) (fed bool) {
	if q.srq != nil && q.srq.starve(q) {
		return true
	}
	q.unready = true
	q.show(l)
	if l.in.notReady() {
		l.bell.ring()
	}
	return false
}

// broken takes the QP into error for what the peer sent; receiving is held.
func (q *pair) broken(l *link, status verbs.Status, event verbs.EventType) bool {
	if old := q.state.Swap(int32(verbs.Err)); verbs.QPState(old) != verbs.Err {
		q.host.events.add(verbs.Event{Type: event, QP: q, QPN: q.self.QPN})
	}
	q.show(l)
	l.in.refuse(status)
	l.bell.ring()
	return false
}

// take gets the buffer for a message.
func (q *pair) take() bool {
	if q.srq != nil {
		q.busy = q.srq.take(&q.current)
	} else if wr := q.buffers.Front(); wr != nil {
		q.current.ID, q.current.SGEs = wr.ID, append(q.current.SGEs[:0], wr.SGEs...)
		q.buffers.Pop()
		q.busy = true
	}
	if l := q.link.Load(); q.busy && q.unready && l != nil {
		q.unready = false
		l.in.rnr.Store(0)
	}
	return q.busy
}

// scatter copies a piece of a message to the buffer. False is a message that
// does not fit, or memory that is not there: the end of an RC QP; an unreliable
// message is given up.
func (q *pair) scatter(l *link, rec *record) bool {
	if rec.kind == writeImmKind {
		return true
	}
	status := q.fill(q.current.SGEs, q.got, rec.data)
	q.got += rec.n
	if status == verbs.StatusOK {
		return true
	}
	q.busy, q.got = false, 0
	if q.attr.Type == verbs.RC {
		refusal := verbs.StatusRemoteInvalidRequest
		if status == verbs.StatusLocalProtection {
			refusal = verbs.StatusRemoteOperation
		}
		q.broken(l, refusal, verbs.EventQPRequest)
	} else {
		q.skipping = rec.flags&lastFlag == 0
		l.in.pop(rec)
	}
	q.received(&verbs.WC{ID: q.current.ID, Status: status, Op: verbs.OpRecv}, false)
	return false
}

// fill copies data to memory from an offset of it on.
func (q *pair) fill(sges []verbs.SGE, from int, data []byte) verbs.Status {
	for i := range sges {
		if len(data) == 0 {
			return verbs.StatusOK
		}
		if n := int(sges[i].Length); from >= n {
			from -= n
			continue
		}
		b, status := q.host.regions.Local(q.domain.number, sges[i], verbs.LocalWrite)
		if status != verbs.StatusOK {
			return status
		}
		data = data[copy(b[from:], data):]
		from = 0
	}
	if len(data) > 0 {
		return verbs.StatusLocalLength
	}
	return verbs.StatusOK
}

// deliver completes the buffer of a message.
func (q *pair) deliver(rec *record) {
	wc := verbs.WC{ID: q.current.ID, Op: verbs.OpRecv, ByteLen: uint32(q.got)}
	if rec.kind == writeImmKind {
		wc.Op, wc.Flags = verbs.OpRecvWriteImm, verbs.WithImm
		wc.Imm, wc.ByteLen = imm(rec.more)
	} else if rec.flags&immFlag != 0 {
		wc.Flags = verbs.WithImm
		wc.Imm, _ = imm(rec.more)
	}
	q.received(&wc, rec.flags&solicitedFlag != 0)
}

// stepDatagram takes a datagram. What does not fit, or has the wrong key, is
// lost.
func (q *pair) stepDatagram(l *link) bool {
	var rec record
	ok, err := l.in.peek(&rec)
	if err != nil || ok && rec.kind != datagramKind {
		_ = l.conn.Close() // this peer is heard no more
		return false
	}
	if !ok {
		return false
	}
	key, sender := imm(rec.more)
	if ib.QKey(key) == q.attr.QKey && q.fits(rec.n) && q.take() {
		wc := verbs.WC{
			ID: q.current.ID, Op: verbs.OpRecv, ByteLen: uint32(verbs.GRHSize + rec.n), SrcQPN: ib.QPN(sender & 0xffffff),
			Status: q.fill(q.current.SGEs, verbs.GRHSize, rec.data),
		}
		if rec.flags&immFlag != 0 {
			wc.Flags, wc.Imm = verbs.WithImm, binary.NativeEndian.Uint32(rec.more[8:])
		}
		q.received(&wc, rec.flags&solicitedFlag != 0)
		q.busy = false
	}
	l.in.pop(&rec)
	return true
}

// fits tells whether the next buffer has room for a datagram (case V10).
func (q *pair) fits(n int) bool {
	if q.srq != nil {
		room, ok := q.srq.room()
		return ok && room >= verbs.GRHSize+n
	}
	wr := q.buffers.Front()
	return wr != nil && roomOf(wr) >= verbs.GRHSize+n
}

// flushBuffers gives the buffers of a QP in error back, once.
func (q *pair) flushBuffers() {
	q.receiving.Lock()
	defer q.doneReceiving()
	if q.now() != verbs.Err {
		return
	}
	if q.busy {
		q.busy, q.got = false, 0
		q.received(&verbs.WC{ID: q.current.ID, Status: verbs.StatusFlushed, Op: verbs.OpRecv}, false)
	}
	for wr := q.buffers.Front(); wr != nil; wr = q.buffers.Front() {
		q.received(&verbs.WC{ID: wr.ID, Status: verbs.StatusFlushed, Op: verbs.OpRecv}, false)
		q.buffers.Pop()
	}
	if q.srq != nil && !q.flushed {
		q.flushed = true
		q.host.events.add(verbs.Event{Type: verbs.EventLastWQE, QP: q, QPN: q.self.QPN})
	}
}

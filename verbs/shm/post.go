//go:build linux && (amd64 || arm64)

package shm

import (
	"encoding/binary"
	"errors"

	"heddle/verbs"
	"heddle/verbs/internal/queue"
)

// outcome is what became of a request.
type outcome uint8

const (
	done    outcome = iota
	flying          // it is in the ring, and the peer has to take it
	blocked         // it has to be tried again
)

// postAll posts what is not done at once.
func (q *pair) postAll(wrs []verbs.SendWR) (n int, err error) {
	q.sending.mu.Lock()
	for n < len(wrs) {
		if err = q.post(&wrs[n]); err != nil {
			break
		}
		n++
	}
	q.doneSending()
	q.settle()
	return n, err
}

// post does a request, or keeps it for later; sending.mu is held.
func (q *pair) post(wr *verbs.SendWR) error {
	if err := wr.Check(&q.attr, &capabilities); err != nil {
		return err
	}
	if q.closed.Load() {
		return q.wrong("post", verbs.ErrClosed)
	}
	state := q.now()
	if !queue.CanPostSend(state) {
		return q.wrong("post in "+state.String(), verbs.ErrState)
	}
	if state == verbs.Err || state == verbs.SQE {
		q.flushSends()
		q.complete(wr.ID, wr.Op, true, verbs.StatusFlushed, 0)
		return nil
	}
	if q.flying.len()+q.posted.Len() >= q.attr.SendWR {
		q.advance(false)
		if n := q.flying.len() + q.posted.Len(); n >= q.attr.SendWR {
			return &verbs.OpError{Verb: "post", Op: wr.Op, ID: wr.ID, Got: n + 1, Limit: q.attr.SendWR, Err: verbs.ErrQueueFull}
		}
	}
	if q.posted.Len() == 0 && state == verbs.RTS {
		how, status := q.execute(wr)
		if how != blocked {
			q.finish(wr, how, status)
			return nil
		}
	}
	if err := q.posted.Push(wr); err != nil {
		return err
	}
	q.count()
	q.host.pump.start()
	return nil
}

// count keeps what is read without the lock.
func (q *pair) count() {
	if n := int32(q.posted.Len()); n != q.waiting.Load() {
		q.waiting.Store(n)
	}
}

// finish completes a request, at once or in its turn.
func (q *pair) finish(wr *verbs.SendWR, how outcome, status verbs.Status) {
	signaled := q.attr.SigAll || wr.Flags&verbs.Signaled != 0
	switch {
	case how == done && status == verbs.StatusOK && q.flying.len() == 0:
		if signaled {
			q.complete(wr.ID, wr.Op, true, status, wr.Length())
		}
		return
	case how == done:
		*q.flying.add() = flight{id: wr.ID, op: wr.Op, signaled: signaled, n: uint32(wr.Length()), status: status}
		q.flying.sent()
	default:
		*q.flying.add() = flight{id: wr.ID, op: wr.Op, signaled: signaled, n: uint32(wr.Length()), end: q.link.Load().out.pos.Load()}
		q.flying.sent()
	}
	if status != verbs.StatusOK {
		q.retire(q.link.Load())
	}
}

// complete makes a completion of a request, where it is signaled or failed.
func (q *pair) complete(id uint64, op verbs.Op, signaled bool, status verbs.Status, n int) {
	if !signaled && status == verbs.StatusOK {
		return
	}
	q.sends.add(&verbs.WC{ID: id, Status: status, Op: op, ByteLen: uint32(n), QPN: q.self.QPN}, false)
}

// execute does a request, or as much of it as can be done now.
func (q *pair) execute(wr *verbs.SendWR) (outcome, verbs.Status) {
	if q.attr.Type == verbs.UD {
		return done, q.datagram(wr)
	}
	l := q.link.Load()
	if l == nil {
		return done, verbs.StatusRetryExceeded
	}
	if fail := l.out.fail.Load(); fail != 0 {
		if q.flying.len() > 0 {
			return blocked, 0 // those before come first
		}
		return done, refusal(fail)
	}
	n := wr.Length()
	if n > maxMessage {
		return done, verbs.StatusLocalLength
	}
	if q.flying.len() > 0 && l.out.refuses() {
		return blocked, 0 // the peer refuses what is before, and this as well
	}
	switch wr.Op {
	case verbs.OpSend, verbs.OpSendImm:
		return q.send(l, wr, n)
	case verbs.OpWrite:
		return q.write(l, wr, n)
	case verbs.OpWriteImm:
		return q.writeImm(l, wr, n)
	case verbs.OpRead:
		return q.read(l, wr, n)
	default:
		return q.atomic(l, wr, n)
	}
}

// refusal is what a peer says of requests; it may be nonsense.
func refusal(fail uint32) verbs.Status {
	switch s := verbs.Status(fail); s {
	case verbs.StatusRemoteInvalidRequest, verbs.StatusRemoteAccess, verbs.StatusRemoteOperation:
		return s
	default:
		return verbs.StatusRetryExceeded
	}
}

// gather finds the data of a request; sending is held.
func (q *pair) gather(wr *verbs.SendWR) verbs.Status {
	q.parts = q.parts[:0]
	if wr.Flags&verbs.Inline != 0 {
		q.parts = append(q.parts, wr.InlineData)
		return verbs.StatusOK
	}
	return q.local(wr, 0)
}

func (q *pair) local(wr *verbs.SendWR, need verbs.Access) verbs.Status {
	q.parts = q.parts[:0]
	for i := range wr.SGEs {
		b, status := q.host.regions.Local(q.domain.number, wr.SGEs[i], need)
		if status != verbs.StatusOK {
			return status
		}
		q.parts = append(q.parts, b)
	}
	return verbs.StatusOK
}

// copyParts copies from an offset on of the parts; dst is not longer than what
// is there.
func copyParts(dst []byte, parts [][]byte, from int) {
	for _, part := range parts {
		if from >= len(part) {
			from -= len(part)
			continue
		}
		dst = dst[copy(dst, part[from:]):]
		from = 0
	}
}

// send puts a SEND into the ring, or what fits.
func (q *pair) send(l *link, wr *verbs.SendWR, n int) (outcome, verbs.Status) {
	if status := q.gather(wr); status != verbs.StatusOK {
		return done, status
	}
	for {
		p := q.piece(l, wr, n)
		room, err := l.out.room(p.more, p.n)
		if err != nil {
			return done, verbs.StatusBadResponse
		}
		if room == nil {
			return blocked, 0
		}
		q.put(l, wr, &p, room)
		if q.sent += p.size; p.flags&lastFlag != 0 {
			q.sent = 0
			return q.sentAll(), verbs.StatusOK
		}
		l.bell.tell() // the peer may begin
	}
}

// piece is a record that a SEND makes.
type piece struct {
	kind    kind
	flags   uint8
	size    int       // of the message
	more, n int       // that are in the record
	lent    verbs.SGE // where the peer finds it, for lentKind
}

// piece is what comes next of a SEND of n bytes.
func (q *pair) piece(l *link, wr *verbs.SendWR, n int) (p piece) {
	p.kind, p.size = sendKind, min(n-q.sent, maxPiece)
	if s := source(wr, q.sent); q.lends(l, s) {
		p.kind, p.size, p.lent = lentKind, min(int(s.Length), lentPiece), s
	} else {
		p.n = p.size
	}
	if q.sent == 0 {
		p.flags |= firstFlag
	}
	if q.sent+p.size == n {
		p.flags |= lastFlag
		if wr.Op == verbs.OpSendImm {
			p.flags |= immFlag
		}
		if wr.Flags&verbs.Solicited != 0 {
			p.flags |= solicitedFlag
		}
	}
	p.more = moreSize(p.kind, p.flags)
	return p
}

// put writes a record.
func (q *pair) put(l *link, wr *verbs.SendWR, p *piece, room []byte) {
	if p.more > 0 {
		binary.NativeEndian.PutUint64(room[wordSize:], uint64(wr.Imm))
	}
	if p.kind == lentKind {
		putLent(room[wordSize:], p.lent, p.size)
	}
	copyParts(room[wordSize+p.more:][:p.n], q.parts, q.sent)
	l.out.clearNext(room)
	l.out.publish(room, p.kind, p.flags, p.n)
	q.silent = true
}

// sentAll is what becomes of a request that is in the ring: an unreliable one is
// done.
func (q *pair) sentAll() outcome {
	if q.attr.Type == verbs.UC {
		return done
	}
	return flying
}

// reach is n bytes of the peer's memory, where the request has that right.
func (q *pair) reach(l *link, wr *verbs.SendWR, n int, need verbs.Access) ([]byte, outcome, verbs.Status) {
	if n == 0 {
		return nil, done, verbs.StatusOK
	}
	if l.access&need != need {
		return nil, done, q.accuse(l, verbs.StatusRemoteAccess)
	}
	t := l.find(wr.RKey)
	if t == nil {
		return q.ask(l, wr.RKey)
	}
	if t.access&need != need {
		return nil, done, q.accuse(l, verbs.StatusRemoteAccess)
	}
	b, ok := t.part(wr.RemoteAddr, n)
	if !ok {
		return nil, done, q.accuse(l, verbs.StatusRemoteAccess)
	}
	return b, done, verbs.StatusOK
}

// ask asks the peer for a region, once.
func (q *pair) ask(l *link, key uint32) ([]byte, outcome, verbs.Status) {
	switch named(key) {
	case l.denied:
		l.denied = 0
		return nil, done, q.accuse(l, verbs.StatusRemoteAccess)
	case l.asking:
		return nil, blocked, 0
	}
	switch err := send(l.conn, &frame{Kind: askFrame, Key: key, From: q.self}); {
	case errors.Is(err, errFull):
		return nil, blocked, 0
	case err != nil:
		return nil, done, verbs.StatusRetryExceeded
	}
	l.asking, l.denied = named(key), 0
	return nil, blocked, 0
}

// accuse tells the peer which request it was the target of.
func (q *pair) accuse(l *link, status verbs.Status) verbs.Status {
	if q.attr.Type == verbs.RC {
		l.in.accused.Store(uint32(status))
		_ = send(l.conn, &frame{Kind: faultFrame, Status: status, From: q.self}) // it may be gone
	}
	return status
}

func (q *pair) write(l *link, wr *verbs.SendWR, n int) (outcome, verbs.Status) {
	if status := q.gather(wr); status != verbs.StatusOK {
		return done, status
	}
	b, how, status := q.reach(l, wr, n, verbs.RemoteWrite)
	if b == nil {
		return how, status
	}
	place(b, q.parts)
	l.bell.tell()
	return done, verbs.StatusOK
}

// writeImm is a WRITE and then a record that tells of it.
func (q *pair) writeImm(l *link, wr *verbs.SendWR, n int) (outcome, verbs.Status) {
	if status := q.gather(wr); status != verbs.StatusOK {
		return done, status
	}
	room, err := l.out.room(8, 0)
	if err != nil {
		return done, verbs.StatusBadResponse
	}
	if room == nil {
		return blocked, 0
	}
	b, how, status := q.reach(l, wr, n, verbs.RemoteWrite)
	if how == blocked || status != verbs.StatusOK {
		return how, status
	}
	place(b, q.parts)
	flags := uint8(firstFlag | lastFlag)
	if wr.Flags&verbs.Solicited != 0 {
		flags |= solicitedFlag
	}
	binary.NativeEndian.PutUint32(room[wordSize:], wr.Imm)
	binary.NativeEndian.PutUint32(room[wordSize+4:], uint32(n))
	l.out.clearNext(room)
	l.out.publish(room, writeImmKind, flags, 0)
	q.silent = true
	return q.sentAll(), verbs.StatusOK
}

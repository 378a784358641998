//go:build linux && (amd64 || arm64)

package shm

import (
	"encoding/binary"
	"sync/atomic"
	"unsafe"

	"heddle/verbs"
)

// What is posted and taken most often goes by a short way here: a WRITE, a READ, an
// atomic or a SEND of a few bytes to a peer that is known, with nothing before it that waits; a
// SEND that is in one piece, to a buffer in one piece. Everything else is left to
// post and drain, and whatever is not as it should be.

// quickSize is how many bytes go that way, so that nobody waits long for who
// posts.
const quickSize = maxPiece

// PostSend implements verbs.QP.
func (q *pair) PostSend(wr *verbs.SendWR) error {
	if q.sending.enter() {
		ok := q.quick(wr)
		q.sending.leave()
		if ok {
			return nil
		}
	}
	_, err := q.postAll(unsafe.Slice(wr, 1))
	return err
}

// PostSends implements verbs.QP.
func (q *pair) PostSends(wrs []verbs.SendWR) (n int, err error) {
	if q.sending.enter() {
		for n < len(wrs) && q.quick(&wrs[n]) {
			n++
		}
		q.sending.leave()
	}
	if n < len(wrs) {
		var more int
		more, err = q.postAll(wrs[n:])
		n += more
	}
	return n, err
}

// quick does a request; false where it did nothing. Its caller is inside sending.
func (q *pair) quick(wr *verbs.SendWR) bool {
	l := q.link.Load()
	if l == nil || q.now() != verbs.RTS || q.attr.Type != verbs.RC || l.out.fail.Load() != 0 || l.out.rnr.Load() != 0 {
		return false
	}
	if wr.Op.Reads() {
		return q.quickFetch(l, wr)
	}
	var data []byte
	switch {
	case wr.Flags&verbs.Inline != 0:
		data = wr.InlineData
		if len(data) > maxInline || len(wr.SGEs) != 0 {
			return false
		}
	case len(wr.SGEs) == 1:
		var status verbs.Status
		data, status = q.host.regions.Local(q.domain.number, wr.SGEs[0], 0)
		if status != verbs.StatusOK {
			return false
		}
	default:
		return false
	}
	if len(data) > quickSize {
		return false
	}
	switch wr.Op {
	case verbs.OpWrite:
		return q.quickWrite(l, wr, data)
	case verbs.OpSend:
		return q.quickSend(l, wr, data)
	default:
		return false
	}
}

func (q *pair) quickWrite(l *link, wr *verbs.SendWR, data []byte) bool {
	t := l.find(wr.RKey)
	if t == nil || t.access&l.access&verbs.RemoteWrite == 0 || len(data) == 0 {
		return false
	}
	b, ok := t.part(wr.RemoteAddr, len(data))
	under := q.flying.len()
	if !ok || under >= q.attr.SendWR {
		return false
	}
	placeOne(b, data)
	l.bell.tell()
	if under > 0 || q.signaled(wr) {
		q.quickDone(wr, len(data), under)
	}
	return true
}

// quickDone completes a request of n bytes, after those that are under way.
func (q *pair) quickDone(wr *verbs.SendWR, n, under int) {
	switch signaled := q.signaled(wr); {
	case under > 0:
		q.fly(wr, signaled, n, 0)
	case signaled:
		q.sendCQ.Push(verbs.WC{ID: wr.ID, Op: wr.Op, ByteLen: uint32(n), QPN: q.self.QPN}, false)
		q.host.bell.ring()
	}
}

// quickFetch does a READ or an atomic. One that is not done, as its region went
// away meanwhile, has brought nothing yet that anybody was told of.
func (q *pair) quickFetch(l *link, wr *verbs.SendWR) bool {
	need := verbs.RemoteRead
	if wr.Op.Atomic() {
		need = verbs.RemoteAtomic
	}
	t, under := l.find(wr.RKey), q.flying.len()
	if t == nil || t.access&l.access&need == 0 || len(wr.SGEs) != 1 || wr.Flags&verbs.Inline != 0 || under >= q.attr.SendWR {
		return false
	}
	data, status := q.host.regions.Local(q.domain.number, wr.SGEs[0], verbs.LocalWrite)
	if status != verbs.StatusOK || len(data) == 0 || len(data) > quickSize {
		return false
	}
	b, ok := t.part(wr.RemoteAddr, len(data))
	switch {
	case !ok:
		return false
	case wr.Op == verbs.OpRead:
		fetch(data, b)
		if l.find(wr.RKey) == nil {
			return false
		}
	case len(data) != 8 || wr.RemoteAddr%8 != 0:
		return false
	default:
		binary.NativeEndian.PutUint64(data, change((*uint64)(unsafe.Pointer(&b[0])), wr))
		l.bell.ring()
	}
	q.quickDone(wr, len(data), under)
	return true
}

func (q *pair) signaled(wr *verbs.SendWR) bool { return q.attr.SigAll || wr.Flags&verbs.Signaled != 0 }

// fly keeps a request until the peer has read the ring up to end.
func (q *pair) fly(wr *verbs.SendWR, signaled bool, n int, end uint64) {
	f := q.flying.add()
	f.id, f.op, f.signaled, f.status, f.n, f.end = wr.ID, wr.Op, signaled, verbs.StatusOK, uint32(n), end
	q.flying.sent()
}

func (q *pair) quickSend(l *link, wr *verbs.SendWR, data []byte) bool {
	if q.flying.len() >= q.attr.SendWR {
		return false
	}
	room, err := l.out.room(0, len(data))
	if err != nil || room == nil {
		return false
	}
	l.out.clearNext(room)
	// The reader looks at the first line all the time: that comes last, at once.
	head := min(len(data), int(lineSize-l.out.pos.Load()%lineSize)-wordSize)
	copy(room[wordSize+head:], data[head:])
	copy(room[wordSize:], data[:head])
	flags := uint8(firstFlag | lastFlag)
	if wr.Flags&verbs.Solicited != 0 {
		flags |= solicitedFlag
	}
	l.out.publish(room, sendKind, flags, len(data))
	l.bell.tell()
	q.fly(wr, q.signaled(wr), len(data), l.out.pos.Load())
	return true
}

// pull takes what came in, unless another goroutine does so: to completions, as
// far as there are some and it is as simple as that, and else to the CQ.
func (q *pair) pull(into []verbs.WC) (n int) {
	if !q.receiving.TryLock() {
		return 0
	}
	simple := len(into) > 0 && q.recvCQ.Quiet()
	if simple {
		n, simple = q.quickReceive(into)
		if n > 0 && !q.recvCQ.Quiet() { // somebody armed it meanwhile
			q.recvCQ.Given()
			q.host.bell.ring()
		}
	}
	if !simple {
		q.drain()
	}
	q.doneReceiving()
	if !simple {
		q.settle()
	}
	return n
}

// plain is the upper part of the word of a record that quickReceive takes, but for
// solicitedFlag.
const plain = uint64(sendKind)<<8 | firstFlag | lastFlag

// quickReceive takes messages to completions; receiving is held, and the CQ has
// none that come before. Simple is false where there is something that it leaves
// to drain.
func (q *pair) quickReceive(into []verbs.WC) (n int, simple bool) {
	l := q.link.Load()
	if l == nil || q.now() != verbs.RTS || q.busy || q.skipping || q.unready || q.srq != nil || q.attr.Type != verbs.RC {
		return 0, false
	}
	r := &l.in
	simple = true
	for n < len(into) {
		at := r.pos & r.mask
		word := atomic.LoadUint64((*uint64)(unsafe.Pointer(&r.data[at])))
		size := int(word & 0xffffff)
		if word == 0 {
			break
		}
		b := q.quickBuffer(size)
		if word>>24&^solicitedFlag != plain || size > maxPiece || b == nil {
			simple = false
			break
		}
		copy(b, r.data[at+wordSize:][:size])
		wc := &into[n]
		*wc = verbs.WC{}
		wc.ID, wc.Op, wc.ByteLen, wc.QPN = q.buffers.Front().ID, verbs.OpRecv, uint32(size), q.self.QPN
		q.buffers.Pop()
		r.pos += recordSize(wordSize + size)
		n++
	}
	if n > 0 {
		r.show()
		l.bell.tell()
	}
	return n, simple
}

// quickBuffer is the oldest buffer, where it is in one piece and has room; nil
// else.
func (q *pair) quickBuffer(size int) []byte {
	wr := q.buffers.Front()
	if wr == nil || len(wr.SGEs) != 1 || int(wr.SGEs[0].Length) < size {
		return nil
	}
	b, _ := q.host.regions.Local(q.domain.number, wr.SGEs[0], verbs.LocalWrite)
	return b
}

//go:build linux && (amd64 || arm64)

package ibv

import (
	"errors"
	"math/bits"
	"runtime"
	"syscall"
	"unsafe"

	"heddle/verbs"
)

// postAtOnce is how many requests go to the device in one call.
const postAtOnce = 32

// sendQueue is what the post calls of a send queue need, so that they allocate
// nothing.
type sendQueue struct {
	gate   gate
	call   dataCall
	wrs    [postAtOnce]ibvSendWR
	inline [postAtOnce]verbs.SGE
	bad    uintptr // the request that the library did not take
}

func (s *sendQueue) init(c *deviceContext, fn, at uintptr) {
	s.gate = c.lib.newGate()
	s.call = dataCall{fn: fn, a1: at, a2: ptr(&s.wrs[0]), a3: ptr(&s.bad), gate: &s.gate, kernel: c.kernel}
}

// recvQueue is that of a receive queue, or an SRQ.
type recvQueue struct {
	gate gate
	call dataCall
	wrs  [postAtOnce]ibvRecvWR
	bad  uintptr
	sges int // that a request may have
}

func (r *recvQueue) init(c *deviceContext, fn, at uintptr, sges int) {
	r.gate = c.lib.newGate()
	r.call = dataCall{fn: fn, a1: at, a2: ptr(&r.wrs[0]), a3: ptr(&r.bad), gate: &r.gate, kernel: c.kernel}
	r.sges = sges
}

// PostSend gives a request to the device.
func (q *qp) PostSend(wr *verbs.SendWR) error {
	if err := q.prepare(0, wr); err != nil {
		return q.postOther(wr, err)
	}
	q.send.wrs[0].Next = 0
	ret := q.send.call.run()
	runtime.KeepAlive(wr)
	if ret != 0 {
		return q.postError(wr.Op, wr.ID, errnoOf(ret))
	}
	return nil
}

// postOther posts what prepare did not: an OpBind. Else its error is the call's.
func (q *qp) postOther(wr *verbs.SendWR, err error) error {
	if errors.Is(err, errBind) {
		if err = q.postBind(wr); err == nil {
			return nil
		}
	}
	return q.postError(wr.Op, wr.ID, err)
}

// PostSends gives several to it.
func (q *qp) PostSends(wrs []verbs.SendWR) (n int, err error) {
	for n < len(wrs) {
		part := wrs[n:min(len(wrs), n+postAtOnce)]
		var refused error
		for i := range part {
			if refused = q.prepare(i, &part[i]); refused != nil {
				part = part[:i]
				break
			}
			q.send.wrs[i].Next = uintptr(unsafe.Pointer(&q.send.wrs[(i+1)%postAtOnce]))
		}
		took, err := q.postPart(part)
		n += took
		if err != nil {
			return n, err
		}
		if refused != nil {
			if err := q.postOther(&wrs[n], refused); err != nil {
				return n, err
			}
			n++
		}
	}
	return n, nil
}

// postPart posts what is prepared.
func (q *qp) postPart(part []verbs.SendWR) (n int, err error) {
	if len(part) == 0 {
		return 0, nil
	}
	s := &q.send
	s.wrs[len(part)-1].Next = 0
	s.bad = 0
	ret := s.call.run()
	runtime.KeepAlive(part)
	n = len(part)
	if ret != 0 {
		n = badIndex(s.bad, s.call.a2, unsafe.Sizeof(s.wrs[0]), len(part))
		err = q.postError(part[n].Op, part[n].ID, errnoOf(ret))
	}
	return n, err
}

// badIndex is which of n requests the library did not take; the first one where
// it does not say.
func badIndex(bad, first, size uintptr, n int) int {
	if i := (bad - first) / size; bad >= first && i < uintptr(n) {
		return int(i)
	}
	return 0
}

// errnoOf is the error of a post or poll: some drivers return it negative.
func errnoOf(ret int64) error {
	if ret == shut {
		return verbs.ErrClosed
	}
	return syscall.Errno(max(ret, -ret))
}

// opcodes are the numbers of the operations.
var opcodes = [...]uint32{
	verbs.OpSend: wrSend, verbs.OpSendImm: wrSendImm, verbs.OpWrite: wrRDMAWrite, verbs.OpWriteImm: wrRDMAWriteImm,
	verbs.OpRead: wrRDMARead, verbs.OpFetchAdd: wrFetchAdd, verbs.OpCompareSwap: wrCompareSwap,
	verbs.OpLocalInv: wrLocalInv,
}

// sendFlags are libibverbs' for the sets of flags of package verbs.
var sendFlags = [16]uint32{
	1: sendSignaled, 2: sendInline, 3: sendInline | sendSignaled,
	4: sendFence, 5: sendFence | sendSignaled, 6: sendFence | sendInline, 7: sendFence | sendInline | sendSignaled,
	8: sendSolicited, 9: sendSolicited | sendSignaled, 10: sendSolicited | sendInline, 11: sendSolicited | sendInline | sendSignaled,
	12: sendSolicited | sendFence, 13: sendSolicited | sendFence | sendSignaled, 14: sendSolicited | sendFence | sendInline,
	15: sendSolicited | sendFence | sendInline | sendSignaled,
}

// errBind is an OpBind, which is not posted as others are.
var errBind = errors.New("an OpBind")

// prepare writes the request in libibverbs' form, at place i of the queue.
func (q *qp) prepare(i int, wr *verbs.SendWR) error {
	// Most requests are plain: what Check looks at is right at a glance.
	if !q.plain.Has(wr.Op) || wr.Flags&verbs.Inline != 0 || len(wr.SGEs) > q.attr.SendSGE {
		if err := wr.Check(&q.attr, &q.ctx.caps); err != nil {
			return err
		}
	}
	if state := verbs.QPState(q.state.Load()); state < verbs.RTS {
		return verbs.ErrState
	}
	w := &q.send.wrs[i]
	w.ID, w.Op, w.Flags = wr.ID, opcodes[wr.Op], sendFlags[wr.Flags&15]
	w.Imm = bits.ReverseBytes32(wr.Imm)
	if wr.Flags&verbs.Inline != 0 {
		w.NumSGE = 0
		if n := len(wr.InlineData); n > 0 {
			q.send.inline[i] = verbs.SGE{Addr: uint64(uintptr(unsafe.Pointer(unsafe.SliceData(wr.InlineData)))), Length: uint32(n)}
			w.SGEs, w.NumSGE = uintptr(unsafe.Pointer(&q.send.inline[i])), 1
		}
	} else {
		w.SGEs, w.NumSGE = uintptr(unsafe.Pointer(unsafe.SliceData(wr.SGEs))), int32(len(wr.SGEs))
	}
	if q.attr.Type == verbs.UD {
		return q.prepareUD(w, wr)
	}
	w.Words[0] = wr.RemoteAddr
	switch wr.Op {
	case verbs.OpFetchAdd:
		w.Words[1], w.Words[3] = wr.Swap, uint64(wr.RKey)
	case verbs.OpCompareSwap:
		w.Words[1], w.Words[2], w.Words[3] = wr.Compare, wr.Swap, uint64(wr.RKey)
	case verbs.OpBind:
		return errBind
	case verbs.OpLocalInv:
		w.Imm = wr.RKey
	default:
		w.Words[1] = uint64(wr.RKey)
	}
	return nil
}

func (q *qp) prepareUD(w *ibvSendWR, wr *verbs.SendWR) error {
	to, ok := wr.AH.(*ah)
	if !ok || to.pd != q.pd {
		return verbs.ErrInvalid
	}
	if to.closed.Load() {
		return verbs.ErrClosed
	}
	w.Words[0] = uint64(ptr(to.c))
	w.Words[1] = uint64(wr.RemoteQPN) | uint64(wr.RemoteQKey)<<32
	return nil
}

// postError is the error of a post call.
func (q *qp) postError(op verbs.Op, id uint64, err error) error {
	if _, ok := errors.AsType[*verbs.OpError](err); ok {
		return err
	}
	return &verbs.OpError{Verb: "post", Op: op, Device: q.ctx.name, QPN: q.QPN(), ID: id, Err: queueError(err)}
}

// queueError knows the error numbers of a full queue.
func queueError(err error) error {
	if errors.Is(err, syscall.ENOMEM) || errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.ENOBUFS) {
		return errors.Join(verbs.ErrQueueFull, err)
	}
	return sentinel(err)
}

// post gives buffers to the device.
func (r *recvQueue) post(wrs []verbs.RecvWR) (n int, err error) {
	for n < len(wrs) {
		part := wrs[n:min(len(wrs), n+postAtOnce)]
		var refused error
		for i := range part {
			if refused = part[i].Check(r.sges); refused != nil {
				part = part[:i]
				break
			}
			r.wrs[i].fill(&part[i], uintptr(unsafe.Pointer(&r.wrs[(i+1)%postAtOnce])))
		}
		if len(part) > 0 {
			r.wrs[len(part)-1].Next = 0
			r.bad = 0
			ret := r.call.run()
			runtime.KeepAlive(part)
			if ret != 0 {
				return n + badIndex(r.bad, r.call.a2, unsafe.Sizeof(r.wrs[0]), len(part)), errnoOf(ret)
			}
		}
		n += len(part)
		if refused != nil {
			return n, refused
		}
	}
	return n, nil
}

// postOne is post for one.
func (r *recvQueue) postOne(wr *verbs.RecvWR) error {
	if err := wr.Check(r.sges); err != nil {
		return err
	}
	r.wrs[0].fill(wr, 0)
	ret := r.call.run()
	runtime.KeepAlive(wr)
	if ret != 0 {
		return errnoOf(ret)
	}
	return nil
}

func (w *ibvRecvWR) fill(wr *verbs.RecvWR, next uintptr) {
	*w = ibvRecvWR{ID: wr.ID, Next: next, SGEs: uintptr(unsafe.Pointer(unsafe.SliceData(wr.SGEs))), NumSGE: int32(len(wr.SGEs))}
}

// PostRecv gives a buffer to the device.
func (q *qp) PostRecv(wr *verbs.RecvWR) error {
	if err := q.mayReceive(); err != nil {
		return q.postError(verbs.OpRecv, wr.ID, err)
	}
	if err := q.recv.postOne(wr); err != nil {
		return q.postError(verbs.OpRecv, wr.ID, err)
	}
	return nil
}

// PostRecvs gives several to it.
func (q *qp) PostRecvs(wrs []verbs.RecvWR) (n int, err error) {
	if len(wrs) == 0 {
		return 0, nil
	}
	if err = q.mayReceive(); err == nil {
		n, err = q.recv.post(wrs)
	}
	if err != nil {
		return n, q.postError(verbs.OpRecv, wrs[n].ID, err)
	}
	return n, nil
}

func (q *qp) mayReceive() error {
	switch {
	case q.attr.SRQ != nil:
		return verbs.ErrInvalid
	case verbs.QPState(q.state.Load()) == verbs.Reset:
		return verbs.ErrState
	}
	return nil
}

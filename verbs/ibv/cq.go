//go:build linux && (amd64 || arm64)

package ibv

import (
	"context"
	"errors"
	"maps"
	"math/bits"
	"runtime"
	"sync"
	"sync/atomic"
	"unsafe"

	"heddle/ib"
	"heddle/verbs"
)

// pollAtOnce is how many completions are taken in one call.
const pollAtOnce = 32

// cq is a completion queue with a channel of its own.
type cq struct {
	ctx     *deviceContext
	c       *ibvCQ
	channel *ibvChannel
	events  *eventFile
	life    life // its children are QPs
	depth   int
	overrun atomic.Bool

	gate gate // of Poll
	call dataCall
	wcs  []ibvWC

	mu      sync.Mutex
	armCall dataCall // guarded by mu
	closed  bool     // guarded by mu

	// datagrams are the numbers of the UD queue pairs that receive here. Devices
	// say of a connection's messages too that they came with a GRH, which is not
	// in their buffers.
	datagrams atomic.Pointer[map[uint32]bool]
	members   sync.Mutex // of who changes them
}

var _ verbs.CQ = (*cq)(nil)

// CreateCQ makes a completion queue.
func (c *deviceContext) CreateCQ(a verbs.CQAttr) (verbs.CQ, error) {
	if a.Depth < 1 || a.Depth > c.attr.MaxCQE {
		return nil, &verbs.OpError{Verb: "create CQ: depth", Device: c.name, Got: a.Depth, Limit: c.attr.MaxCQE, Err: verbs.ErrInvalid}
	}
	q := &cq{ctx: c}
	err := c.life.adopt(func() error { return q.create(a) })
	if err != nil {
		return nil, c.failed("create CQ", err)
	}
	c.events.add(ptr(q.c), q)
	return q, nil
}

func (q *cq) create(a verbs.CQAttr) (err error) {
	lib := q.ctx.lib
	if q.channel, err = object[ibvChannel](invoke(lib, lib.createChannel, ptr(q.ctx.c))); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, q.destroy())
		}
	}()
	if err := consistent(q.channel.Context == q.ctx.c && q.channel.FD > 0, "ibv_comp_channel"); err != nil {
		return err
	}
	if q.events, err = newEventFile(q.channel.FD, q.ctx.name+": completions"); err != nil {
		return err
	}
	q.c, err = object[ibvCQ](invoke(lib, lib.createCQ, ptr(q.ctx.c), uintptr(a.Depth), 0, ptr(q.channel), uintptr(a.Vector)))
	if err != nil {
		return err
	}
	if err := consistent(q.c.Context == q.ctx.c && q.c.Channel == q.channel && int(q.c.Depth) >= a.Depth, "ibv_cq"); err != nil {
		return err
	}
	q.depth = int(q.c.Depth)
	q.wcs = make([]ibvWC, pollAtOnce)
	q.gate = lib.newGate()
	q.call = dataCall{
		fn: q.ctx.c.Ops.PollCQ, a1: ptr(q.c), a3: ptr(&q.wcs[0]),
		gate: &q.gate, kernel: q.ctx.kernel,
	}
	q.armCall = dataCall{fn: q.ctx.c.Ops.ReqNotifyCQ, a1: ptr(q.c), kernel: q.ctx.kernel}
	return nil
}

// Poll takes completions.
func (q *cq) Poll(into []verbs.WC) (n int, err error) {
	for n < len(into) {
		want := min(len(into)-n, pollAtOnce)
		q.call.a2 = uintptr(want)
		got := q.call.run()
		if got == 0 && !q.overrun.Load() {
			return n, nil
		}
		if got <= 0 || got == shut {
			return n, q.pollError(n, got)
		}
		for i := range q.wcs[:got] {
			q.wcs[i].translate(&into[n+i])
			if q.wcs[i].Flags&wcGRH != 0 && q.isDatagram(q.wcs[i].QPN) {
				into[n+i].Flags |= verbs.WithGRH
			}
		}
		n += int(got)
		if int(got) < want {
			break
		}
	}
	return n, nil
}

// pollError is what there is to say when no completion came.
func (q *cq) pollError(n int, got int64) error {
	switch {
	case got == shut:
		return q.ctx.failed("poll CQ", verbs.ErrClosed)
	case n > 0:
		return nil
	case got < 0 || q.overrun.Load():
		return q.ctx.failed("poll CQ", verbs.ErrCQOverrun)
	}
	return nil
}

// statuses are libibverbs' in the words of package verbs; reliable datagrams,
// which have the numbers that are missing, are nowhere.
var statuses = [...]verbs.Status{
	0: verbs.StatusOK, 1: verbs.StatusLocalLength, 2: verbs.StatusLocalQPOperation, 4: verbs.StatusLocalProtection,
	5: verbs.StatusFlushed, 6: verbs.StatusBind, 7: verbs.StatusBadResponse, 8: verbs.StatusLocalAccess,
	9: verbs.StatusRemoteInvalidRequest, 10: verbs.StatusRemoteAccess, 11: verbs.StatusRemoteOperation,
	12: verbs.StatusRetryExceeded, 13: verbs.StatusRNRRetryExceeded, 16: verbs.StatusRemoteAborted,
	19: verbs.StatusFatal, 20: verbs.StatusResponseTimeout, 21: verbs.StatusGeneral,
}

func status(n uint32) verbs.Status {
	if int(n) < len(statuses) && (n == 0 || statuses[n] != 0) {
		return statuses[n]
	}
	return verbs.StatusGeneral
}

// operations are those of completions by their numbers; receives come after.
var operations = [...]verbs.Op{
	verbs.OpSend, verbs.OpWrite, verbs.OpRead, verbs.OpCompareSwap, verbs.OpFetchAdd, verbs.OpBind, verbs.OpLocalInv,
}

func operation(n uint32) verbs.Op {
	switch {
	case n == wcRecv:
		return verbs.OpRecv
	case n == wcRecvWriteImm:
		return verbs.OpRecvWriteImm
	case int(n) < len(operations):
		return operations[n]
	}
	return 0
}

// translate puts a completion in the words of package verbs.
func (w *ibvWC) translate(to *verbs.WC) {
	*to = verbs.WC{ID: w.ID, QPN: ib.QPN(w.QPN)}
	if w.Status != 0 {
		to.Status, to.Vendor = status(w.Status), w.Vendor
		return
	}
	to.Op, to.ByteLen, to.SrcQPN = operation(w.Op), w.ByteLen, ib.QPN(w.SrcQPN)
	if w.Flags&wcWithImm != 0 {
		to.Flags |= verbs.WithImm
		to.Imm = bits.ReverseBytes32(w.Imm)
	}
}

func (q *cq) isDatagram(qpn uint32) bool {
	set := q.datagrams.Load()
	return set != nil && (*set)[qpn]
}

// setDatagrams adds or removes a UD queue pair.
func (q *cq) setDatagrams(qpn uint32, there bool) {
	q.members.Lock()
	defer q.members.Unlock()
	next := make(map[uint32]bool)
	if set := q.datagrams.Load(); set != nil {
		maps.Copy(next, *set)
	}
	if there {
		next[qpn] = true
	} else {
		delete(next, qpn)
	}
	q.datagrams.Store(&next)
}

// Arm asks for an event.
func (q *cq) Arm(solicitedOnly bool) error {
	var ret int64 = shut
	q.mu.Lock()
	if !q.closed {
		q.armCall.a2 = 0
		if solicitedOnly {
			q.armCall.a2 = 1
		}
		ret = q.armCall.run()
	}
	q.mu.Unlock()
	if ret != 0 {
		return q.ctx.failed("arm CQ", errnoOf(ret))
	}
	return nil
}

// Wait waits for an event.
func (q *cq) Wait(ctx context.Context) error {
	lib, raw := q.ctx.lib, new([2]uintptr)
	err := q.events.wait(ctx, func() (bool, error) {
		ret, errno := invoke(lib, lib.getCQEvent, ptr(q.channel), uintptr(unsafe.Pointer(&raw[0])), uintptr(unsafe.Pointer(&raw[1])))
		switch {
		case int32(ret) == 0:
			// The CQ is not destroyed before its events are acknowledged.
			_, _ = invoke(lib, lib.ackCQEvents, ptr(q.c), 1) // it returns nothing
			return true, nil
		case again(errno):
			return false, nil
		}
		return false, q.ctx.failed("wait for CQ", errors.Join(errno, verbs.ErrNoDevice))
	})
	runtime.KeepAlive(raw)
	return err
}

func (q *cq) Depth() int { return q.depth }

// Close ends who waits, and destroys the CQ.
func (q *cq) Close() error {
	done, err := q.life.end()
	if !done {
		return q.ctx.failed("destroy CQ", err)
	}
	defer q.ctx.life.release()
	q.gate.close()
	q.mu.Lock()
	q.closed = true
	q.mu.Unlock()
	q.ctx.events.remove(ptr(q.c))
	return q.ctx.failed("destroy CQ", q.destroy())
}

// destroy gives back what create made.
func (q *cq) destroy() (err error) {
	lib := q.ctx.lib
	if q.events != nil {
		err = q.events.close()
	}
	if q.c != nil {
		err = errors.Join(err, failure(invoke(lib, lib.destroyCQ, ptr(q.c))))
	}
	return errors.Join(err, failure(invoke(lib, lib.destroyChannel, ptr(q.channel))))
}

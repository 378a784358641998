package perf

import (
	"context"
	"errors"
	"slices"

	"heddle/ib"
	"heddle/verbs"
)

// trial is a test at one end.
type trial struct {
	Spec
	area
	ctx   context.Context
	end   *End
	caps  verbs.Caps // with what is assumed
	first bool       // this end begins
	peer  hello

	pd             verbs.PD
	sendCQ, recvCQ verbs.CQ
	qp             verbs.QP
	ah             verbs.AH
	peerQPN        ib.QPN
	peerQKey       ib.QKey
	undo           []func() error

	recvs  []verbs.RecvWR // one for each slot
	wcs    [32]verbs.WC
	at, n  int // of wcs, what was not looked at yet
	free   int // buffers that were taken and are not posted again
	sender sender
	want   wanted

	checked int // messages that were compared
	taken   int // of those sent, as far as is known
}

// make makes all that belongs to the trial, up to a QP in INIT.
func (t *trial) make() (err error) {
	if t.pd, err = t.end.dev.AllocPD(); err != nil {
		return err
	}
	t.undo = append(t.undo, t.pd.Close)
	if err = t.register(); err != nil {
		return err
	}
	for _, cq := range []*verbs.CQ{&t.sendCQ, &t.recvCQ} {
		if *cq, err = t.end.dev.CreateCQ(verbs.CQAttr{Depth: t.queue() + 1}); err != nil {
			return err
		}
		t.undo = append(t.undo, (*cq).Close)
	}
	if t.qp, err = t.pd.CreateQP(t.attr()); err != nil {
		return err
	}
	t.undo = append(t.undo, t.qp.Close)
	t.want.init(t)
	t.prepareReceives()
	return t.prepareSends()
}

// queue is how many requests each queue has room for.
func (t *trial) queue() int { return max(t.slots, 16) }

func (t *trial) register() (err error) {
	if t.mem, err = verbs.NewMemory(t.all()); err != nil {
		return err
	}
	t.buf = t.mem.Bytes()
	t.undo = append(t.undo, t.mem.Close)
	access := verbs.LocalWrite
	for op, right := range map[verbs.Op]verbs.Access{
		verbs.OpWrite: verbs.RemoteWrite, verbs.OpRead: verbs.RemoteRead, verbs.OpFetchAdd: verbs.RemoteAtomic,
	} {
		if t.caps.Can(t.Service, op) {
			access |= right
		}
	}
	if t.mr, err = t.pd.RegisterMR(t.mem, access); err != nil {
		return err
	}
	t.undo = append(t.undo, t.mr.Close)
	return nil
}

// inlineLimit is up to which size perftest sends inline by itself.
const inlineLimit = 220

func (t *trial) attr() verbs.QPAttr {
	a := verbs.QPAttr{
		Type: t.Service, SendCQ: t.sendCQ, RecvCQ: t.recvCQ, SendWR: t.queue(), RecvWR: t.queue(), QKey: 0x11111111,
	}
	if most := t.end.dev.Attr().MaxInline; !t.Op.Reads() && t.Size <= min(most, inlineLimit) {
		a.Inline = max(t.Size, min(wordSize, most))
	}
	return a
}

// close ends all, the newest first.
func (t *trial) close() error {
	var all []error
	for _, f := range slices.Backward(t.undo) {
		all = append(all, f())
	}
	t.undo = nil
	return errors.Join(all...)
}

func (t *trial) hello() hello {
	return hello{Name: t.end.name, Endpoint: t.qp.Endpoint(), Addr: t.mr.Addr(), RKey: t.mr.RKey()}
}

// connect takes the QP to RTS.
func (t *trial) connect() (err error) {
	if t.Service != verbs.UD {
		return t.qp.Connect(t.ctx, t.peer.Endpoint)
	}
	if err = t.qp.Connect(t.ctx, nil); err != nil {
		return err
	}
	if t.ah, t.peerQPN, t.peerQKey, err = t.pd.ResolveAH(t.peer.Endpoint); err != nil {
		return err
	}
	t.undo = append(t.undo, t.ah.Close)
	for i := range t.sender.wrs {
		wr := &t.sender.wrs[i]
		wr.AH, wr.RemoteQPN, wr.RemoteQKey = t.ah, t.peerQPN, t.peerQKey
	}
	return nil
}

// prepareReceives makes the buffers, or what the peer will READ.
func (t *trial) prepareReceives() {
	for i := range t.slots {
		if t.Check && t.Op == verbs.OpRead {
			t.fill(t.in(i), uint64(i+1))
		}
	}
	t.recvs = make([]verbs.RecvWR, t.slots)
	for i := range t.recvs {
		t.recvs[i].ID = uint64(i)
		if t.Op == verbs.OpWriteImm {
			continue // takes a receive without a buffer
		}
		at, size := t.in(i), t.Size
		if t.Service == verbs.UD {
			at, size = at-verbs.GRHSize, size+verbs.GRHSize
		}
		t.recvs[i].SGEs = []verbs.SGE{t.mr.SGE(at, size)}
	}
}

// prepareSends makes the requests, but for what differs from one to the next,
// and posts the buffers.
func (t *trial) prepareSends() error {
	t.sender.make(t)
	if !t.Op.Receives() {
		return nil
	}
	_, err := t.qp.PostRecvs(t.recvs)
	return err
}

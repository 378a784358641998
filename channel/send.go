package channel

import (
	"errors"
	"fmt"

	"heddle/verbs"
)

// Send/Recv: a message is a SEND, and comes to the next buffer that the receiver
// has posted for this sender. The receiver's device says when it came, and how
// long it is. Messages are delivered as their SENDs complete, which on devices
// without an order of delivery is any order.
//
// It needs nothing but SEND. A number beside the message is an immediate, where
// the device has those.

// sendSender is what the senders of SENDs share.
type sendSender struct {
	end   *end
	peer  *Peer // nil before there was one
	size  int   // of the longest message
	stage *stage
	wr    verbs.SendWR
}

func (s *sendSender) queues() queues { return queues{send: 64} }

func (s *sendSender) offer(*Peer, *hello) {}

func (s *sendSender) attach(p *Peer, h *hello) (err error) {
	switch {
	case s.peer != nil:
		return fmt.Errorf("a peer was there before: %w", ErrBusy)
	case h.slots == 0 || h.size == 0:
		return fmt.Errorf("peer's %d buffers of %d bytes: %w", h.slots, h.size, ErrInvalid)
	}
	size := staged(int(h.slots), int(h.size))
	if err := s.end.affords(uint64(size)); err != nil {
		return err
	}
	if s.stage, err = s.end.newStage(p, size); err != nil {
		return err
	}
	s.stage.signals = true
	s.size = s.end.longest(int(h.size))
	s.peer = p
	return nil
}

func (s *sendSender) detach(p *Peer) { p.lose(nil) }

func (s *sendSender) most() int { return s.size }

// reserve gives memory for a message that there may be no buffer for.
func (s *sendSender) reserve(n int) ([]byte, error) {
	switch {
	case s.peer == nil:
		return nil, ErrWouldBlock
	case s.peer.gone != nil:
		return nil, s.peer.gone
	}
	// It is here that one waits, where a context can end it, and not in Commit.
	if err := s.peer.ready(1); err != nil {
		return nil, err
	}
	return s.stage.take(n)
}

func (s *sendSender) commit(n int, imm *uint32) error {
	s.wr.Op = verbs.OpSend
	if imm != nil {
		s.wr.Op, s.wr.Imm = verbs.OpSendImm, *imm
	}
	return s.stage.send(&s.wr, n)
}

func (s *sendSender) abort() {}

func (s *sendSender) settled() (bool, error) {
	if s.peer == nil {
		return true, nil
	}
	if err := s.end.reap(); err != nil {
		return false, err
	}
	return s.peer.retired == s.peer.posted, s.peer.gone
}

func (s *sendSender) free() error { return s.stage.free() }

// creditSender is the sender of Send/Recv.
type creditSender struct {
	sendSender
	allowance *allowance
}

func newSendSender(e *end) (_ sending, err error) {
	s := &creditSender{sendSender: sendSender{end: e, wr: verbs.SendWR{SGEs: make([]verbs.SGE, 1)}}}
	s.allowance, err = e.newAllowance()
	return s, err
}

func (s *creditSender) queues() queues { return queues{send: 64, recv: creditRecvs} }

func (s *creditSender) offer(p *Peer, _ *hello) {
	if s.peer == nil {
		s.allowance.invite(p)
	}
}

func (s *creditSender) attach(p *Peer, h *hello) error {
	if err := s.sendSender.attach(p, h); err != nil {
		return err
	}
	s.allowance.slots = uint64(h.slots)
	return s.allowance.failed
}

func (s *creditSender) reserve(n int) ([]byte, error) {
	b, err := s.sendSender.reserve(n)
	if err != nil {
		return nil, err
	}
	return b, s.allowance.room(s.peer)
}

func (s *creditSender) commit(n int, imm *uint32) error {
	err := s.sendSender.commit(n, imm)
	if err == nil {
		s.allowance.sent++
	}
	return err
}

func (s *creditSender) credit(back uint32) error {
	if s.peer == nil || s.peer.gone != nil {
		return nil // reserve tells
	}
	return s.allowance.credit(s.peer, back)
}

func (s *creditSender) free() error { return errors.Join(s.sendSender.free(), s.allowance.free()) }

// sendReceiver is the receiver of Send/Recv.
type sendReceiver struct {
	*buffers
	credits  *credits
	peer     *Peer // that was invited last; messages may come before it is attached
	attached bool
	failed   error // of posting the buffers
}

func newSendReceiver(e *end) (receiving, error) {
	b, err := e.newBuffers()
	if err != nil {
		return nil, err
	}
	r := &sendReceiver{buffers: b}
	b.post = func(wr *verbs.RecvWR) error { return r.peer.qp.PostRecv(wr) }
	if r.credits, err = e.newCredits(); err != nil {
		return nil, errors.Join(err, b.memory.free())
	}
	return r, nil
}

func (r *sendReceiver) queues() queues { return queues{send: 4, recv: len(r.held)} }

func (r *sendReceiver) offer(p *Peer, h *hello) {
	h.slots, h.size = uint32(len(r.held)), uint32(r.end.cfg.Size)
	if r.attached {
		return
	}
	clear(r.peers)
	r.peer, r.peers[p.qp.QPN()] = p, p
	r.failed = r.postAll()
}

func (r *sendReceiver) attach(*Peer, *hello) error {
	if r.attached {
		return fmt.Errorf("a peer was there before: %w", ErrBusy)
	}
	r.attached = true
	return r.failed
}

func (r *sendReceiver) detach(p *Peer) { p.lose(nil) }

func (r *sendReceiver) poll(d *delivery) error {
	if r.peer == nil {
		return ErrWouldBlock
	}
	r.credits.tell(r.peer)
	ok, err := r.buffers.poll(d)
	switch {
	case ok:
		r.credits.came++
		return nil
	case r.peer.gone != nil:
		return r.peer.gone
	case err != nil:
		return err
	}
	return ErrWouldBlock
}

func (r *sendReceiver) release(slot uint64) {
	if r.buffers.release(slot) {
		r.credits.back++
		r.credits.tell(r.peer)
	}
}

func (r *sendReceiver) back() uint32 { return uint32(r.credits.back) }

func (r *sendReceiver) pair(t *twin) { r.credits.twin = t }

// watch looks again where credits wait for others that are under way: the sender
// may need them, and nothing that the receiver waits for would come.
func (r *sendReceiver) watch() watch {
	if r.peer == nil || r.credits.owed() && r.credits.isUnderWay(r.peer) {
		return watch{}
	}
	return watch{cq: r.end.recvs}
}

func (r *sendReceiver) free() error { return errors.Join(r.memory.free(), r.credits.memory.free()) }

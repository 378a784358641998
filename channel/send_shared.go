package channel

import (
	"errors"
	"time"

	"heddle/verbs"
)

// Shared Send/Recv: as Send/Recv, but all senders' messages come to the same
// buffers, so that the receiver's memory does not grow with their number. A sender
// does not know how many buffers there are: its device tries again after a short
// while as long as there is none (RNR, without an end). Networks that break a
// connection for that, which InfiniBand and RoCE do not, need more buffers than
// messages can be under way.
//
// The device of a sender that leaves, or fails, gives the buffer back that it had
// taken and not filled.

// notReadyTime is how long a sender's device waits that found no buffer.
const notReadyTime = 40 * time.Microsecond

func newSharedSendSender(e *end) (sending, error) {
	return &sendSender{end: e, wr: verbs.SendWR{SGEs: make([]verbs.SGE, 1)}}, nil
}

// sharedReceiver is the receiver of Shared Send/Recv.
type sharedReceiver struct {
	*buffers
	srq verbs.SRQ
}

func newSharedReceiver(e *end) (receiving, error) {
	b, err := e.newBuffers()
	if err != nil {
		return nil, err
	}
	r := &sharedReceiver{buffers: b}
	if r.srq, err = e.t.pd.CreateSRQ(verbs.SRQAttr{WR: e.cfg.Slots, SGE: 1}); err != nil {
		return nil, errors.Join(err, b.memory.free())
	}
	b.post, b.shared = r.srq.PostRecv, true
	if err := b.postAll(); err != nil {
		return nil, errors.Join(err, r.free())
	}
	return r, nil
}

func (r *sharedReceiver) queues() queues {
	peers := r.end.cfg.Peers
	return queues{recv: (len(r.held) + peers - 1) / peers, srq: r.srq, notReady: notReadyTime}
}

func (r *sharedReceiver) offer(p *Peer, h *hello) {
	h.slots, h.size = uint32(len(r.held)), uint32(r.end.cfg.Size)
	r.peers[p.qp.QPN()] = p
}

func (r *sharedReceiver) attach(*Peer, *hello) error { return nil }

func (r *sharedReceiver) detach(p *Peer) { p.lose(nil) }

// part takes what came from a peer, and the buffers that its queue pair has, before
// that is closed, and all is lost that is in it.
func (r *sharedReceiver) part(p *Peer) {
	_ = p.qp.Modify(verbs.Err) // closing it does the same, but for the buffers
	for n := 1; n > 0; {
		n, _ = r.collect()
	}
	delete(r.peers, p.qp.QPN())
}

func (r *sharedReceiver) poll(d *delivery) error {
	ok, err := r.buffers.poll(d)
	if !ok && err == nil {
		err = ErrWouldBlock
	}
	return err
}

func (r *sharedReceiver) release(slot uint64) { r.buffers.release(slot) }

func (r *sharedReceiver) watch() watch { return watch{cq: r.end.recvs} }

func (r *sharedReceiver) free() error { return errors.Join(r.srq.Close(), r.memory.free()) }

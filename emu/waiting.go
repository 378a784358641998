package emu

import (
	"heddle/ibsim"
)

// waiting is a request of a client that has no timers, which the server sends
// again and in the end gives back, as a kernel would do for its programs.
type waiting struct {
	session *session
	packet  Packet
	tid     uint64
	left    int // sends again
}

// ask sends a request and waits for its answer. Most are there at once, and
// cost nothing more.
func (x *session) ask(s *Subnet, p *Packet) {
	tid := x.client.mark(p.MAD.TID())
	x.sending = tid
	x.client.Send(p)
	if x.sending == 0 {
		return
	}
	x.sending = 0
	if x.waiting == nil {
		x.waiting = map[uint64]*waiting{}
	}
	w := &waiting{session: x, packet: *p, tid: tid, left: x.server.cfg.Retries}
	x.waiting[tid] = w
	s.after(x.server.cfg.Timeout, w)
}

// answered ends the wait for a transaction. false means that nobody waits for
// it, as for the second answer to a request that was sent again.
func (x *session) answered(tid uint64) bool {
	if x.sending == tid {
		x.sending = 0
		return true
	}
	_, waits := x.waiting[tid]
	delete(x.waiting, tid)
	return waits
}

// fire is the end of one wait.
func (w *waiting) fire(s *Subnet) {
	x := w.session
	if x.gone || x.waiting[w.tid] != w {
		return
	}
	if w.left > 0 {
		w.left--
		s.after(x.server.cfg.Timeout, w)
		x.client.Send(&w.packet)
		return
	}
	delete(x.waiting, w.tid)
	w.packet.MAD.SetTID(w.tid)
	x.deliver(&w.packet, ibsim.StatusTimeout)
}

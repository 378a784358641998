package channel

import (
	"errors"

	"heddle/verbs"
)

// Ring with a SEND: a WRITE of the message, and a SEND of its number and length,
// which completes after what was sent before it is in memory. It is for networks
// without immediates, such as iWARP, where rsockets do the same.

type ringSendSender struct {
	*noticeSender
	tell verbs.SendWR
}

func newRingSendSender(e *end) (sending, error) {
	s := &ringSendSender{noticeSender: newNoticeSender(e)}
	s.tell = verbs.SendWR{Op: verbs.OpSend, SGEs: make([]verbs.SGE, 1)}
	return s, nil
}

func (s *ringSendSender) most() int { return s.longest(8) }

func (s *ringSendSender) reserve(n int) ([]byte, error) {
	b, err := s.lendFor(n, padded(n)+8, 2)
	if err != nil {
		return nil, err
	}
	return b[:n:padded(n)], nil
}

func (s *ringSendSender) commit(n int, _ *uint32) error {
	b, err := s.stage.take(padded(n) + 8)
	if err != nil {
		return err
	}
	if err := s.peer.ready(2); err != nil {
		return err
	}
	store(b, padded(n), uint64(n)|s.number<<32)
	if err := s.write(s.at, n); err != nil {
		return err
	}
	s.sent(n)
	return s.stage.send(&s.tell, 8)
}

type ringSendReceiver struct{ *noticeReceiver }

func newRingSendReceiver(e *end) (_ receiving, err error) {
	r, err := newNoticeReceiver(e)
	if err != nil {
		return nil, err
	}
	if r.buffers, err = e.newRegion(8*len(r.came), false, verbs.LocalWrite); err != nil {
		return nil, errors.Join(err, r.free())
	}
	r.tells = func(wc *verbs.WC) (uint32, uint64, bool) {
		w := load(r.buffers.b, 8*int(wc.ID))
		return uint32(w >> 32), uint64(uint32(w)), wc.Op == verbs.OpRecv && wc.ByteLen == 8
	}
	return &ringSendReceiver{r}, nil
}

package perf

import "heddle/verbs"

// sender posts requests, and takes the completion of every so many.
type sender struct {
	*trial
	wrs    []verbs.SendWR  // Chain of them, used again and again
	count  [1]verbs.SendWR // WRITEs the counter
	every  int             // one completion for so many requests
	limit  int             // requests that are not done, at most
	inline bool

	posted, done int // requests, as far as completions told
	silent       int // posted since the last that asked for a completion
	taken        [32]verbs.WC
}

func (s *sender) make(t *trial) {
	s.trial, s.limit = t, t.queue()
	if t.Test == Stream {
		s.limit = t.slots // what is sent from is in use until it is done
	}
	s.inline = !t.Op.Reads() && t.attr().Inline > 0
	s.wrs = make([]verbs.SendWR, t.Chain)
	for i := range s.wrs {
		s.wrs[i].Op = t.Op
		if !s.inline {
			s.wrs[i].SGEs = make([]verbs.SGE, 1)
		}
	}
	s.count[0] = verbs.SendWR{Op: verbs.OpWrite, SGEs: []verbs.SGE{t.mr.SGE(t.counter(), wordSize)}}
	s.every = max(1, s.limit/4)
	if t.Op.Reads() {
		s.every = 1
		s.limit = min(t.slots, max(1, t.qp.Attr().Reads))
	}
}

// fill makes a request for the message of a number, from 0, of its slot.
func (s *sender) fill(wr *verbs.SendWR, i int) {
	at := s.out(i)
	switch {
	case s.Check && s.Op == verbs.OpRead:
		clear(s.message(at))
	case s.Check && !s.Op.Reads():
		s.area.fill(at, uint64(i+1))
	case s.polled():
		s.ring(at, uint64(i+1))
	}
	if s.inline {
		wr.Flags, wr.InlineData = verbs.Inline, s.message(at)
	} else {
		wr.Flags, wr.SGEs[0] = 0, s.mr.SGE(at, s.size)
	}
	wr.ID, wr.Imm = uint64(i), uint32(i+1)
	s.aim(wr, i)
}

// aim sets where in the peer's memory a request goes.
func (s *sender) aim(wr *verbs.SendWR, i int) {
	if s.Op == verbs.OpSend || s.Op == verbs.OpSendImm {
		return
	}
	if s.Op.Atomic() { // all count in one word
		wr.Compare, wr.Swap = uint64(i), uint64(i+1)
		if s.Op == verbs.OpFetchAdd {
			wr.Swap = 1
		}
		i = 0
	}
	wr.RemoteAddr, wr.RKey = s.peer.Addr+uint64(s.in(i)), s.peer.RKey
}

// send posts the message of a number.
func (s *sender) send(i int) error {
	if err := s.room(1); err != nil {
		return err
	}
	s.fill(&s.wrs[0], i)
	return s.post(s.wrs[:1])
}

// room waits until so many more requests may be posted: before that the slots that
// they are sent from are in use.
func (s *sender) room(n int) error {
	for s.posted+n-s.done > s.limit {
		if err := s.reap(); err != nil {
			return err
		}
	}
	return nil
}

// post posts requests when there is room for them.
func (s *sender) post(wrs []verbs.SendWR) error {
	if err := s.room(len(wrs)); err != nil {
		return err
	}
	s.posted += len(wrs)
	s.silent += len(wrs)
	last := &wrs[len(wrs)-1]
	switch {
	case s.Op.Reads():
		for i := range wrs {
			wrs[i].Flags |= verbs.Signaled
		}
	case s.silent >= s.every || s.posted-s.done >= s.limit:
		last.Flags |= verbs.Signaled
		last.ID = uint64(s.silent)
		s.silent = 0
	}
	if len(wrs) == 1 {
		return s.qp.PostSend(last)
	}
	_, err := s.qp.PostSends(wrs)
	return err
}

// reap waits for completions.
func (s *sender) reap() error {
	n, err := s.poll(s.sendCQ, s.taken[:])
	if err != nil {
		return err
	}
	return s.account(s.taken[:n])
}

// glance takes what completions there are: they tell of errors.
func (s *sender) glance() error {
	n, err := s.sendCQ.Poll(s.taken[:])
	if err != nil {
		return err
	}
	return s.account(s.taken[:n])
}

func (s *sender) account(wcs []verbs.WC) error {
	for i := range wcs {
		wc := &wcs[i]
		if err := wc.Err(); err != nil {
			return err
		}
		if !s.Op.Reads() {
			s.done += int(wc.ID)
			continue
		}
		s.done++
		if s.Check {
			if err := s.checkFetched(int(wc.ID)); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkFetched looks at what READ, or an atomic, of a number brought.
func (s *sender) checkFetched(i int) error {
	s.checked++
	if !s.Op.Atomic() {
		return s.verify(s.out(i), uint64(i&(s.slots-1)+1))
	}
	if got := *s.word(s.out(i)); got != uint64(i) {
		return mismatch(s.Op, i, got)
	}
	return nil
}

// tell WRITEs to the peer how many messages were taken.
func (s *sender) tell(n int) error {
	*s.word(s.counter()) = uint64(n)
	wr := &s.count[0]
	wr.Flags, wr.RemoteAddr, wr.RKey = 0, s.peer.Addr+uint64(s.counted()), s.peer.RKey
	return s.post(s.count[:])
}

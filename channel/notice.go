package channel

import "heddle/verbs"

// notice is a word that is SENT to tell of a message. The words are in memory of
// the sender's, one for each message that is under way.
type notice struct {
	words *region
	wr    verbs.SendWR
}

func (n *notice) make(words *region) {
	*n = notice{words, verbs.SendWR{Op: verbs.OpSend, SGEs: make([]verbs.SGE, 1)}}
}

// send sends the i-th word.
func (n *notice) send(to *Peer, i int) error {
	if to.inline >= 8 {
		n.wr.Flags, n.wr.SGEs, n.wr.InlineData = verbs.Inline, n.wr.SGEs[:0], n.words.b[8*i:8*i+8]
	} else {
		n.wr.Flags, n.wr.SGEs, n.wr.InlineData = 0, n.wr.SGEs[:1], nil
		n.wr.SGEs[0] = n.words.mr.SGE(8*i, 8)
	}
	return to.post(&n.wr, true)
}

// notices are the receiver's side: a word for each receive that is posted.
type notices struct {
	end   *end
	peer  *Peer
	words *region
	count int
	wr    verbs.RecvWR
	wcs   [64]verbs.WC
	have  []verbs.WC // that were not looked at
}

func (n *notices) make(e *end) (err error) {
	n.end, n.count = e, e.posts()
	n.wr.SGEs = make([]verbs.SGE, 1)
	n.words, err = e.newRegion(8*n.count, false, verbs.LocalWrite)
	return err
}

func (n *notices) attach(p *Peer) error {
	n.peer = p
	for i := range n.count {
		if err := n.post(uint64(i)); err != nil {
			return err
		}
	}
	return nil
}

func (n *notices) post(i uint64) error {
	n.wr.ID, n.wr.SGEs[0] = i, n.words.mr.SGE(int(8*i), 8)
	return n.peer.qp.PostRecv(&n.wr)
}

// look looks once what came, for next. Looking again until nothing comes would
// take time from what has come.
func (n *notices) look() error {
	if len(n.have) > 0 {
		return nil
	}
	got, err := n.end.recvs.Poll(n.wcs[:])
	n.have = n.wcs[:got]
	return err
}

// next gives the next word of those, or ErrWouldBlock.
func (n *notices) next() (uint64, error) {
	if len(n.have) == 0 {
		return 0, wouldBlock(n.peer.gone)
	}
	wc := &n.have[0]
	n.have = n.have[1:]
	switch {
	case wc.Status != verbs.StatusOK:
		n.peer.broke(wc)
		return 0, n.peer.gone
	case wc.ByteLen != 8:
		n.peer.lose(errNotice)
		return 0, n.peer.gone
	}
	w := load(n.words.b, int(8*wc.ID))
	if err := n.post(wc.ID); err != nil {
		n.peer.lose(err)
	}
	return w, nil
}

// posts is how many SENDs of one peer are under way at most.
func (e *end) posts() int {
	n := e.cfg.Slots
	if most := e.t.dev.Attr().MaxQPWR; most > 0 {
		n = min(n, most-1)
	}
	return max(n, 1)
}

package verbstest

import (
	"testing"

	"heddle/verbs"
)

// noAllocs posts and polls through the interface, as programs do. The first round
// is for what a device keeps.
func noAllocs(e *env) {
	a, b := e.pair(verbs.RC)
	r := e.rig(a, b, 64)
	wr := r.request(e.oneSided(), 8)
	wr.Flags = verbs.Signaled
	p := poster{e: e, qp: a.qp, cq: a.sends.CQ, wr: &wr, list: []verbs.SendWR{wr, wr}, wcs: make([]verbs.WC, 4)}
	for range 2 * freeRuns {
		p.post()
	}
	p.pollAll(func(poll func()) { poll() })
	e.settled(a, r)
	e.free("posting", p.post)
	p.pollAll(func(poll func()) { e.free("polling", poll) })
	buffer := verbs.RecvWR{SGEs: []verbs.SGE{r.ma.SGE(0, 8)}}
	e.free("posting receives", func() { p.failed(a.qp.PostRecv(&buffer)) })
	e.must("post and poll", p.err)
}

// poster posts requests and polls their completions.
type poster struct {
	e    *env
	qp   verbs.QP
	cq   verbs.CQ
	wr   *verbs.SendWR
	list []verbs.SendWR
	wcs  []verbs.WC
	left int
	err  error
}

func (p *poster) failed(err error) {
	if err != nil {
		p.err = err
	}
}

func (p *poster) post() {
	p.failed(p.qp.PostSend(p.wr))
	n, err := p.qp.PostSends(p.list)
	p.failed(err)
	p.left += 1 + n
}

func (p *poster) poll() {
	n, err := p.cq.Poll(p.wcs)
	p.failed(err)
	p.left -= n
}

// pollAll polls until all is done; do does a poll.
func (p *poster) pollAll(do func(poll func())) {
	for p.left > 0 && p.err == nil {
		n, err := verbs.Await(p.e.ctx, p.cq, p.wcs)
		p.failed(err)
		p.left -= n
		do(p.poll)
	}
}

// freeRuns is how often free does something: the second half is measured.
const freeRuns = 8

// free does something that may not allocate.
func (e *env) free(what string, f func()) {
	e.Helper()
	n := testing.AllocsPerRun(1, func() {
		for range freeRuns / 2 {
			f()
		}
	})
	if n > 0 {
		e.Errorf("%s allocates: %v times in %d calls", what, n, freeRuns/2)
	}
}

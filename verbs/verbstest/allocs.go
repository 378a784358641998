package verbstest

import (
	"math"
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
	// What else in the process allocates at that moment is counted as well, such as
	// the timers of a device in real time: what each of several rounds has is the
	// call's own.
	posting, polling := freeRounds{least: math.Inf(1)}, freeRounds{least: math.Inf(1)}
	for range allocRounds {
		posting.measure(p.post)
		p.pollAll(func(poll func()) { polling.measure(poll) })
	}
	posting.free(e, "posting")
	polling.free(e, "polling")
	buffer := verbs.RecvWR{SGEs: []verbs.SGE{r.ma.SGE(0, 8)}}
	receiving := freeRounds{least: math.Inf(1)}
	for range allocRounds {
		receiving.measure(func() { p.failed(a.qp.PostRecv(&buffer)) })
	}
	receiving.free(e, "posting receives")
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

const (
	// freeRuns is how often measure does something: the second half is measured.
	freeRuns = 8
	// allocRounds is how often it is measured.
	allocRounds = 5
)

// freeRounds is the least number of allocations that any round had.
type freeRounds struct{ least float64 }

// measure does something that may not allocate.
func (r *freeRounds) measure(f func()) {
	r.least = min(r.least, testing.AllocsPerRun(1, func() {
		for range freeRuns / 2 {
			f()
		}
	}))
}

// free demands that a round was free of allocations.
func (r *freeRounds) free(e *env, what string) {
	e.Helper()
	if r.least > 0 {
		e.Errorf("%s allocates: %v times in %d calls", what, r.least, freeRuns/2)
	}
}

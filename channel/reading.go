package channel

import (
	"fmt"

	"heddle/verbs"
)

// reading is what READs a sender's memory: all receivers of fetch and cast
// channels. A READ that brings nothing is followed by another one in the next
// call, so that whoever waits waits meanwhile.
type reading struct {
	end      *end
	peer     *Peer  // nil before there was one
	number   uint64 // the READ that looks for something new; 0 if none is under way
	local    *region
	ledger   ledger
	reporter reporter
	lazy     uint64 // the sender is told when so much was given back
	unit     uint64 // of what it is told
	wr       verbs.SendWR
}

func (r *reading) make(e *end) error {
	r.end, r.unit = e, 1
	r.wr = verbs.SendWR{Op: verbs.OpRead, SGEs: make([]verbs.SGE, 1)}
	return r.reporter.make(e)
}

// queues has place for as many READs as are posted at once, and for reports.
func (r *reading) queues() queues {
	access := verbs.Access(0)
	if !r.end.writes() {
		access = verbs.RemoteRead
	}
	return queues{send: 64, access: access}
}

func (r *reading) offer(_ *Peer, h *hello) {
	if !r.end.writes() {
		h.regions = []remote{r.reporter.words.remote()}
	}
}

func (r *reading) detach(p *Peer) { p.lose(nil) }

func (r *reading) free() error {
	err := r.local.free()
	if e := r.reporter.words.free(); err == nil {
		err = e
	}
	return err
}

// read posts a READ of n bytes.
func (r *reading) read(into *region, offset int, from remote, at uint64, n int) error {
	r.wr.SGEs[0] = into.mr.SGE(offset, n)
	r.wr.RemoteAddr, r.wr.RKey = from.addr+at, from.rkey
	return r.peer.post(&r.wr, true)
}

// look posts one that looks for something new.
func (r *reading) look(into *region, offset int, from remote, at uint64, n int) error {
	err := r.read(into, offset, from, at, n)
	if err == nil {
		r.number = r.peer.posted
	}
	return err
}

// arrived tells whether what a READ brought is there. If it never will be, the
// error is that of the peer.
func (r *reading) arrived(number uint64) (bool, error) {
	if !r.peer.isDone(number) {
		if err := r.end.reap(); err != nil {
			return false, err
		}
	}
	if r.peer.succeeded(number) {
		return true, nil
	}
	if r.peer.isDone(number) || r.peer.left {
		return false, r.peer.gone
	}
	return false, nil // the device may still write there, even if the peer is gone
}

// release gives back a message.
func (r *reading) release(token uint64) {
	if r.ledger.release(token) && r.ledger.head-r.reporter.told*r.unit >= r.lazy {
		_ = r.report()
	}
}

// report tells the sender what was given back.
func (r *reading) report() error { return r.reporter.tell(r.ledger.head / r.unit) }

// idle is what a call ends with whose READ brought nothing new.
func (r *reading) idle() error { return wouldBlock(r.report()) }

// watch has one wait for a READ, and between two of them for a while.
func (r *reading) watch() watch {
	if r.number != 0 {
		return watch{cq: r.end.sends}
	}
	return watch{}
}

// spoilt is a peer whose memory has what no sender has there.
func (r *reading) spoilt(format string, args ...any) error {
	r.peer.lose(fmt.Errorf(format+": %w", append(args, ErrInvalid)...))
	return r.peer.gone
}

// wouldBlock is why there is nothing.
func wouldBlock(err error) error {
	if err == nil {
		return ErrWouldBlock
	}
	return err
}

var errNotice = fmt.Errorf("the peer's word is none of 8 bytes: %w", ErrInvalid)

var errNoWord = fmt.Errorf("the peer has no word for what it gives back: %w", ErrInvalid)

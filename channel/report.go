package channel

import (
	"heddle/verbs"
)

// Who READs a passive sender's memory tells how far it has given that back: it
// WRITEs a sealed word of the sender's. The words are several, one after the
// other: each waits for its own last WRITE only, so that none overtakes another
// in one place, and yet one that is under way holds up none.
//
// Where the device has no WRITE, the reader keeps the word in its own memory, and
// the sender READs it when it lacks room.

const (
	reportWords = 8
	reportsAt   = 64 // the words' offset in the sender's memory
	reportsEnd  = reportsAt + 8*reportWords
)

// reporter is the reader's side.
type reporter struct {
	end   *end
	peer  *Peer
	words *region
	to    remote
	salt  uint64
	told  uint64 // what the sender was told
	next  int
	used  [reportWords]uint64 // the WRITE of each word
	wr    verbs.SendWR
}

func (r *reporter) make(e *end) (err error) {
	r.end = e
	r.wr = verbs.SendWR{Op: verbs.OpWrite, SGEs: make([]verbs.SGE, 1)}
	r.words, err = e.newRegion(8*reportWords, false, verbs.RemoteRead)
	return err
}

// attach begins with what the sender takes for told.
func (r *reporter) attach(p *Peer, to remote, salt, told uint64) {
	r.peer, r.to, r.salt, r.told = p, to, salt, told
	r.wr.RKey = to.rkey
}

// tell tells the sender a number, unless all words are under way: then it is
// called again with the next one.
func (r *reporter) tell(v uint64) error {
	if v == r.told {
		return nil
	}
	word := seal(uint32(v), r.salt)
	if !r.end.writes() {
		store(r.words.b, 0, word)
		r.told = v
		return nil
	}
	i := r.next % reportWords
	if !r.peer.isDone(r.used[i]) {
		if err := r.end.reap(); err != nil || !r.peer.isDone(r.used[i]) {
			return err
		}
	}
	store(r.words.b, 8*i, word)
	r.wr.RemoteAddr = r.to.addr + uint64(reportsAt+8*i)
	if r.peer.inline >= 8 {
		r.wr.Flags, r.wr.SGEs, r.wr.InlineData = verbs.Inline, r.wr.SGEs[:0], r.words.b[8*i:8*i+8]
	} else {
		r.wr.SGEs[0] = r.words.mr.SGE(8*i, 8)
	}
	if err := r.peer.post(&r.wr, true); err != nil {
		return err
	}
	r.used[i] = r.peer.posted
	r.end.credits++
	r.next++
	r.told = v
	return nil
}

// reports are the sender's side, of one reader.
type reports struct {
	page  *region // the reader's to WRITE to; the words begin at reportsAt
	salt  uint64
	value uint64
	gauge *gauge // where the device has no WRITE
}

func (r *reports) make(e *end) (err error) {
	r.page, err = e.newRegion(reportsEnd, false, verbs.LocalWrite|verbs.RemoteWrite|verbs.RemoteRead)
	return err
}

// attach begins with a value.
func (r *reports) attach(p *Peer, h *hello, value uint64) (err error) {
	r.value = value
	if p.end.writes() {
		return nil
	}
	if len(h.regions) != 1 || !h.regions[0].holds(8) {
		return errNoWord
	}
	if r.gauge, err = p.end.newGauge(p, h.regions[0], r.salt); err == nil {
		r.gauge.value = value
	}
	return err
}

// look takes in what came.
func (r *reports) look() error {
	if r.gauge != nil {
		err := r.gauge.look()
		r.value = r.gauge.value
		return err
	}
	for i := range reportWords {
		if low, ok := unseal(load(r.page.b, reportsAt+8*i), r.salt); ok {
			r.value = ahead(r.value, low)
		}
	}
	return nil
}

// ask has it come, where it does not by itself.
func (r *reports) ask() error {
	if r.gauge == nil {
		return nil
	}
	return r.gauge.ask()
}

func (r *reports) free() error {
	err := r.page.free()
	if e := r.gauge.free(); err == nil {
		err = e
	}
	return err
}

// writes tells whether the device has WRITE.
func (e *end) writes() bool { return e.t.caps.Can(verbs.RC, verbs.OpWrite) }

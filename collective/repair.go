package collective

import (
	"time"

	"heddle/verbs"
)

// repair fetches what did not come by itself.
type repair struct {
	s       *stream
	near    *peer // who is asked first; nil for the root itself
	runs    [4]run
	reading slotSet // slots that a READ is under way to
	beyond  uint64  // chunks below it the neighbour did not have
	late    time.Time
	due     bool // something changed that act has to look at

	heard time.Time     // when something new came, or was asked for
	pause time.Duration // until is asked again
	probe part          // where the answer comes to
	from  *peer         // who is asked, nil for nobody
	turn  bool          // whose turn it is: the neighbour's, or the root's

	asks, reads verbs.SendWR
}

// run is chunks that a READ is under way of.
type run struct {
	first uint64
	n     int // 0 for none
	from  *peer
}

func (r *repair) init(s *stream) {
	r.s, r.reading = s, newSlotSet(s.g.cfg.Slots)
	r.probe = s.g.marks.slice((2*s.index+1)*markSize, markSize)
	r.asks = verbs.SendWR{Op: verbs.OpRead, Flags: verbs.Signaled, SGEs: []verbs.SGE{r.probe.sge()}}
	r.reads = verbs.SendWR{Op: verbs.OpRead, Flags: verbs.Signaled, SGEs: make([]verbs.SGE, 1)}
	r.pause = r.first()
}

// first is the first pause: without multicast nothing comes by itself.
func (r *repair) first() time.Duration {
	if r.s.g.way == ByRead {
		return r.s.g.cfg.Probe / 256
	}
	return r.s.g.cfg.Probe
}

// choose finds the neighbour: with multicast the rank on the left, without it the
// parent in the binomial tree.
func (r *repair) choose() {
	g, root := r.s.g, r.s.root
	near := (g.rank - 1 + g.size) % g.size
	if g.way == ByRead {
		near = parent(g.rank, root, g.size)
	}
	if near != root {
		r.near = g.peers[near]
	}
}

func (r *repair) hear() { r.heard, r.pause, r.due = time.Now(), r.first(), true }

// act asks for what is missing, and tells when to look again.
func (r *repair) act(now time.Time) time.Time {
	s := r.s
	if s.have >= s.known {
		if r.from != nil {
			return now.Add(time.Second) // the answer comes before
		}
		if now.Sub(r.heard) >= r.pause {
			r.ask(now)
		}
		return r.heard.Add(r.pause)
	}
	if r.late.IsZero() {
		r.late = now
	}
	wait := s.g.cfg.Gap
	if s.g.way == ByRead {
		wait = 0
	}
	if now.Sub(r.late) < wait {
		return r.late.Add(wait)
	}
	r.fetch()
	return now.Add(s.g.cfg.Probe)
}

// ask READs how many chunks there are.
func (r *repair) ask(now time.Time) {
	s := r.s
	p := s.g.peers[s.root]
	if r.turn = !r.turn; r.turn && s.g.way == ByRead && r.near != nil && r.near.up() {
		p = r.near
	}
	r.heard, r.pause = now, min(max(2*r.pause, time.Microsecond), 64*s.g.cfg.Probe)
	if s.g.way == ByRead {
		r.pause = min(r.pause, s.g.cfg.Probe)
	}
	wr := &r.asks
	wr.ID, wr.RemoteAddr, wr.RKey = number(markRead, s.root, 0, p.rank), p.haves.at(s.index*markSize), p.haves.RKey
	if s.g.post(p, wr) {
		r.from = p
		s.g.stats.probes.Add(1)
	} else if p.rank == s.root && p.gone {
		s.err = ErrPeerGone
	}
}

// asked is the answer.
func (r *repair) asked(err error) {
	s, from := r.s, r.from
	r.from, r.due = nil, true
	if err != nil {
		r.lost(from, err)
		return
	}
	if v, ok := mark(r.probe.bytes); ok {
		if v > s.known && v > s.taken+uint64(s.g.cfg.Slots) {
			s.lagged = true // the ring went on without this reader
		}
		s.learned(v)
	}
}

// lost is told that a request to a rank failed.
func (r *repair) lost(p *peer, err error) {
	r.due = true
	if r.s.g.broke(p); p.gone && p.rank == r.s.root {
		r.s.err = gone(err)
	}
}

// up tells whether a rank can be asked.
func (p *peer) up() bool { return !p.gone && !p.down }

// fetch READs the chunks that are missing, as many together as lie together.
func (r *repair) fetch() {
	s := r.s
	for seq := s.have; seq < s.known; {
		if s.set.has(s.at(seq)) || r.reading.has(s.at(seq)) {
			seq++
			continue
		}
		n := r.length(seq)
		free := r.free()
		if free < 0 || !r.read(free, seq, n) {
			return
		}
		seq += uint64(n)
	}
}

// length is how many chunks from one on can be fetched by one READ.
func (r *repair) length(seq uint64) int {
	s, slots := r.s, uint64(r.s.g.cfg.Slots)
	most := slots - s.at(seq)
	if limit := s.g.caps.MaxMessage; limit > 0 {
		most = min(most, uint64(limit/s.g.cfg.Chunk))
	}
	n := uint64(1)
	for n < most && seq+n < s.known && !s.set.has(s.at(seq+n)) && !r.reading.has(s.at(seq+n)) && (seq+n < r.beyond) == (seq < r.beyond) {
		n++
	}
	return int(n)
}

func (r *repair) free() int {
	for i := range r.runs {
		if r.runs[i].n == 0 {
			return i
		}
	}
	return -1
}

// read READs n chunks from one on.
func (r *repair) read(i int, seq uint64, n int) bool {
	s := r.s
	p := s.g.peers[s.root]
	if r.near != nil && r.near.up() && seq >= r.beyond {
		p = r.near
	}
	size := s.g.cfg.Chunk
	offset := int(s.at(seq)) * size
	wr := &r.reads
	wr.ID, wr.SGEs[0] = number(slotRead, s.root, i, p.rank), s.ring.slice(offset, n*size).sge()
	wr.RemoteAddr, wr.RKey = p.rings.at(s.index*s.g.cfg.Slots*size+offset), p.rings.RKey
	if !s.g.post(p, wr) {
		if p.gone && p.rank == s.root {
			s.err = ErrPeerGone
		}
		return false
	}
	for j := range uint64(n) {
		r.reading.set(s.at(seq + j))
	}
	r.runs[i] = run{seq, n, p}
	s.g.stats.reads.Add(1)
	return true
}

// fetched takes what a READ brought. What is not the chunk that was asked for is
// asked for at the root next; there it means that the root has written the slot
// anew.
func (r *repair) fetched(i int, err error) {
	s, one := r.s, r.runs[i]
	r.runs[i] = run{}
	for j := range uint64(one.n) {
		r.reading.clear(s.at(one.first + j))
	}
	r.due = true
	if err != nil {
		r.lost(one.from, err)
		return
	}
	whole := true
	for seq := one.first; seq < one.first+uint64(one.n); seq++ {
		whole = r.check(seq, one.from) && whole
	}
	if !whole && one.from == r.near {
		r.beyond = max(r.beyond, one.first+uint64(one.n))
	}
}

// check looks at a chunk that a READ brought.
func (r *repair) check(seq uint64, from *peer) bool {
	s := r.s
	var h header
	b := s.slot(seq).bytes
	payload, err := h.parse(b)
	if err != nil || !s.valid(&h) || !whole(b, payload) || h.seq != seq {
		if err == nil && from.rank == s.root && h.seq > seq && whole(b, payload) {
			s.lagged = true
		}
		return false
	}
	if from == r.near {
		s.g.stats.fromNeighbour.Add(1)
	} else {
		s.g.stats.fromRoot.Add(1)
	}
	s.add(seq)
	return true
}

package sim

import (
	"fmt"
	"slices"
	"sync/atomic"
	"unsafe"

	"heddle/verbs"
)

const (
	// maxPieces is in how many pieces at most a packet goes to memory, or is read.
	maxPieces = 8
	// pieceTime is how long at most passes between two pieces.
	pieceTime = 64 // ticks
	// stall is how long now and then something waits that others may pass.
	stall = 8 * 1024 // ticks
)

// piece is a part of a packet's payload.
type piece struct{ from, to int }

// cut cuts what lies at an address into pieces, of whole aligned chunks of so
// many bytes, and shuffles them, or leaves them in order where that is promised.
func (n *Network) cut(p *packet, addr uint64, length, chunk int) {
	ordered := chunk >= verbs.AllBytes
	if ordered {
		chunk = 1
	}
	size := uint64(chunk)
	first := addr / size
	chunks := int((addr+uint64(length)-1)/size - first + 1)
	p.next, p.count = 0, 1
	ends := p.pieces[:0]
	for range n.random.IntN(min(maxPieces, chunks)) {
		at := int((first+uint64(1+n.random.IntN(chunks-1)))*size - addr)
		if !slices.ContainsFunc(ends, func(e piece) bool { return e.to == at }) {
			ends = append(ends, piece{to: at})
		}
	}
	ends = append(ends, piece{to: length})
	slices.SortFunc(ends, func(a, b piece) int { return a.to - b.to })
	p.count = len(ends)
	for i := 1; i < len(ends); i++ {
		ends[i].from = ends[i-1].to
	}
	if !ordered {
		n.random.Shuffle(len(ends), func(i, j int) { ends[i], ends[j] = ends[j], ends[i] })
	}
}

// move brings a packet's payload to memory, the first piece now.
func (q *qp) move(p *packet) {
	if p.fault != nakNone || len(p.data) == 0 && q.attr.Type != verbs.UD {
		p.phase = placed
		return
	}
	if q.attr.Type == verbs.UD && !q.placeGRH(p) || len(p.data) == 0 {
		p.phase = placed
		return
	}
	chunk := q.net.cfg.Profile.WriteChunk
	if isWrite(p.op) && q.isRelaxed(p) {
		chunk = min(chunk, 64)
	}
	p.phase = moving
	q.net.cut(p, p.addr+uint64(p.offset), len(p.data), chunk)
	if q.startsAtOnce(p) && q.net.random.IntN(8) == 0 {
		q.net.schedule(event{at: q.net.now + ticks(q.net.random.IntN(stall)), kind: placing, pkt: p})
		return
	}
	q.placePiece(p)
}

// placeNext places the next piece of a packet.
func (n *Network) placeNext(p *packet) {
	q := p.dst
	if q.void(p) {
		return
	}
	q.placePiece(p)
	if p.phase == placed {
		q.moved(p)
	}
}

// void tells whether a packet is not to be executed any more.
func (q *qp) void(p *packet) bool {
	if p.abandoned {
		q.net.free(p)
		return true
	}
	return q.closed || q.epoch != p.dstEpoch || !q.receives()
}

// placePiece places a piece, and has the next one come.
func (q *qp) placePiece(p *packet) {
	x := p.pieces[p.next]
	p.next++
	if q.net.cfg.Trace != nil {
		q.net.trace(p, fmt.Sprintf("placed from %d to %d", p.offset+x.from, p.offset+x.to))
	}
	if !q.place(p, x) {
		p.fault = nakAccess // its memory is gone
		if p.rx != nil {
			p.fault, p.status = nakOperation, verbs.StatusLocalProtection
		}
		p.next = p.count
	}
	if p.next == p.count {
		p.phase = placed
		return
	}
	q.net.schedule(event{at: q.net.now + 1 + ticks(q.net.random.IntN(pieceTime)), kind: placing, pkt: p})
}

// place places a piece, and tells whether its memory is there.
func (q *qp) place(p *packet, x piece) bool {
	if p.rx != nil {
		return q.scatter(p.rx.sges, q.headroom()+p.offset+x.from, p.data[x.from:x.to])
	}
	at := p.addr + uint64(p.offset+x.from)
	b, status := q.pd.ctx.dev.regions.Remote(q.pd.number, uint32(q.number), p.rkey, at, x.to-x.from, verbs.RemoteWrite)
	if status != verbs.StatusOK {
		return false
	}
	store(b, p.data[x.from:x.to])
	return true
}

// scatter writes to the memory of SGEs, from an offset on, and tells whether all
// of it was there.
func (q *qp) scatter(sges []verbs.SGE, offset int, data []byte) bool {
	for _, s := range sges {
		if len(data) == 0 {
			break
		}
		if offset >= int(s.Length) {
			offset -= int(s.Length)
			continue
		}
		b, status := q.pd.ctx.dev.regions.Local(q.pd.number, s, verbs.LocalWrite)
		if status != verbs.StatusOK {
			return false
		}
		n := min(len(b)-offset, len(data))
		store(b[offset:], data[:n])
		data, offset = data[n:], 0
	}
	return len(data) == 0
}

// store copies data to memory that others look at meanwhile, in ascending order:
// aligned words by atomic stores, single bytes by atomic exchange of the word
// that they are in.
func store(to, data []byte) {
	for len(data) > 0 {
		at := unsafe.Pointer(unsafe.SliceData(to))
		n := 8
		if uintptr(at)%8 == 0 && len(data) >= 8 {
			atomic.StoreUint64((*uint64)(at), *(*uint64)(unsafe.Pointer(unsafe.SliceData(data))))
		} else {
			n = min(4-int(uintptr(at)%4), len(data))
			storeBytes(at, data[:n])
		}
		to, data = to[n:], data[n:]
	}
}

// storeBytes stores bytes of one aligned word of four.
func storeBytes(at unsafe.Pointer, data []byte) {
	skip := uintptr(at) % 4
	word := (*uint32)(unsafe.Add(at, -int(skip)))
	for {
		old := atomic.LoadUint32(word)
		v := *(*[4]byte)(unsafe.Pointer(&old))
		copy(v[skip:], data)
		if atomic.CompareAndSwapUint32(word, old, *(*uint32)(unsafe.Pointer(&v))) {
			return
		}
	}
}

// load reads memory that others write meanwhile, in ascending order.
func load(to, from []byte) {
	for len(from) > 0 {
		at := unsafe.Pointer(unsafe.SliceData(from))
		if uintptr(at)%8 == 0 && len(from) >= 8 {
			*(*uint64)(unsafe.Pointer(unsafe.SliceData(to))) = atomic.LoadUint64((*uint64)(at))
			to, from = to[8:], from[8:]
			continue
		}
		skip := uintptr(at) % 4
		v := atomic.LoadUint32((*uint32)(unsafe.Add(at, -int(skip))))
		n := copy(to, (*(*[4]byte)(unsafe.Pointer(&v)))[skip:min(4, int(skip)+len(from))])
		to, from = to[n:], from[n:]
	}
}

// word is what an atomic is of.
func (q *qp) word(p *packet) (*atomic.Uint64, bool) {
	b, status := q.pd.ctx.dev.regions.Remote(q.pd.number, uint32(q.number), p.rkey, p.addr, 8, verbs.RemoteAtomic)
	if status != verbs.StatusOK {
		return nil, false
	}
	return (*atomic.Uint64)(unsafe.Pointer(unsafe.SliceData(b))), true
}

// change executes an atomic that the CPU cannot come between.
func (q *qp) change(p *packet) (before uint64, ok bool) {
	word, ok := q.word(p)
	if !ok {
		return 0, false
	}
	if p.op == verbs.OpFetchAdd {
		return word.Add(p.swap) - p.swap, true
	}
	for {
		if before = word.Load(); before != p.compare || word.CompareAndSwap(before, p.swap) {
			return before, true
		}
	}
}

// fetch begins to read what a READ asks for, and sends it. Later WRITEs do not
// wait for that.
func (q *qp) fetch(p *packet) {
	n := q.net
	r := n.reply(p, answer)
	r.addr, r.rkey, r.offset, r.length, r.total = p.addr, p.rkey, p.offset, p.length, p.total
	if r.length == 0 {
		n.transmit(r)
		return
	}
	r.data = r.data[:r.length]
	n.cut(r, r.addr+uint64(r.offset), r.length, n.cfg.Profile.FetchChunk)
	if n.cfg.Profile.FetchChunk >= verbs.AllBytes {
		q.fetches = append(q.fetches, r)
		if len(q.fetches) > 1 {
			return
		}
	}
	if n.random.IntN(8) == 0 {
		n.schedule(event{at: n.now + ticks(n.random.IntN(stall)), kind: fetching, pkt: r})
		return
	}
	n.fetchSoon(r)
}

func (n *Network) fetchSoon(r *packet) {
	n.schedule(event{at: n.now + ticks(n.random.IntN(pieceTime)), kind: fetching, pkt: r})
}

// fetchNext reads the next piece of an answer, and sends it after the last.
func (n *Network) fetchNext(r *packet) {
	q := r.src
	if q.closed || q.epoch != r.srcEpoch || q.pd.ctx.dev.dead {
		return
	}
	x := r.pieces[r.next]
	r.next++
	b, status := q.pd.ctx.dev.regions.Remote(q.pd.number, uint32(q.number), r.rkey, r.addr+uint64(r.offset+x.from), x.to-x.from, verbs.RemoteRead)
	if status != verbs.StatusOK {
		r.kind, r.why, r.data, r.next = nak, nakAccess, r.data[:0], r.count
	} else {
		load(r.data[x.from:x.to], b)
	}
	if r.next < r.count {
		n.fetchSoon(r)
		return
	}
	if len(q.fetches) > 0 && q.fetches[0] == r {
		if q.fetches = q.fetches[:copy(q.fetches, q.fetches[1:])]; len(q.fetches) > 0 {
			n.fetchSoon(q.fetches[0])
		}
	}
	n.transmit(r)
}

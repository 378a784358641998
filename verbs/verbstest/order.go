package verbstest

import (
	"fmt"

	"heddle/verbs"
)

// fills writes one byte all over a message's place, again and again with another
// one, and has look look at each state of the memory that the target's program
// sees, until it says that all is there.
func (e *env) fills(size int, look func(memory []byte, last, now byte) (done bool, fault string)) {
	a, b := e.pair(verbs.RC)
	r := e.rig(a, b, size)
	for round := range e.suite.Rounds {
		last, now := byte(round), byte(round+1)
		n := 1 + e.rand.IntN(size)
		at := guard + e.rand.IntN(size-n+1)
		r.ma.store(0, fill(size+guard, now))
		r.mb.store(at, fill(n, last))
		a.post(verbs.SendWR{Op: verbs.OpWrite, Flags: verbs.Signaled, SGEs: []verbs.SGE{r.ma.SGE(0, n)}, RemoteAddr: r.mb.addr(at), RKey: r.mb.RKey()})
		fault := ""
		r.mb.await("the last byte", func() (done bool) {
			done, fault = look(r.view(at, n), last, now)
			return done || fault != ""
		})
		if fault != "" {
			e.Fatalf("WRITE of %d bytes to offset %d, number %d: %s", n, at-guard, round, fault)
		}
		a.sends.ok(0, verbs.OpWrite)
		r.mb.await("all bytes", func() bool { return r.mb.equal(at, fill(n, now)) })
	}
}

// view is the target's memory as its program sees it.
func (r *rig) view(offset, n int) []byte {
	if d, ok := r.mb.MR.(distant); ok {
		data, err := d.Load(offset, n)
		r.e.must("load", err)
		return data
	}
	return r.mb.Memory().Bytes()[offset : offset+n]
}

func fill(n int, v byte) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = v
	}
	return b
}

// writeOrder holds WRITEs against Caps.WriteOrder. Memory is read from the end
// to the begin: what comes in ascending order is then never found in part.
func writeOrder(e *env) {
	order := e.near.caps.WriteOrder
	e.fills(min(e.longest(), 16<<10), func(memory []byte, _, now byte) (bool, string) {
		switch {
		case order.Ascending():
			return descending(memory, now)
		case order.Last > 0 && memory[len(memory)-1] == now:
			return descending(memory, now)
		case order.Last > 0:
			return false, ""
		}
		return true, ""
	})
	if order.Chunk > 1 && !order.Ascending() {
		chunks(e, order.Chunk)
	}
}

// descending looks for a byte that is there, before one that is not.
func descending(memory []byte, now byte) (done bool, fault string) {
	seen := -1
	for i := len(memory) - 1; i >= 0; i-- {
		switch {
		case memory[i] == now && seen < 0:
			seen = i
		case memory[i] != now && seen >= 0:
			return false, fmt.Sprintf("byte %d is there, byte %d before it is not", seen, i)
		}
	}
	return seen == len(memory)-1, ""
}

// chunks does so for each aligned chunk of a WRITE.
func chunks(e *env, chunk int) {
	a, b := e.pair(verbs.RC)
	size := min(e.longest(), 4<<10) / chunk * chunk
	r := e.rig(a, b, size+chunk)
	base := guard + int(-r.mb.addr(guard)%uint64(chunk))
	for round := range e.suite.Rounds {
		now := byte(round + 1)
		r.ma.store(0, fill(size, now))
		r.mb.store(base, fill(size, byte(round)))
		a.post(verbs.SendWR{Op: verbs.OpWrite, Flags: verbs.Signaled, SGEs: []verbs.SGE{r.ma.SGE(0, size)}, RemoteAddr: r.mb.addr(base), RKey: r.mb.RKey()})
		fault := ""
		r.mb.await("all chunks", func() bool {
			done := true
			for at := 0; at < size && fault == ""; at += chunk {
				var whole bool
				whole, fault = descending(r.view(base+at, chunk), now)
				done = done && whole
			}
			return done || fault != ""
		})
		if fault != "" {
			e.Fatalf("chunks of %d bytes, WRITE number %d: %s", chunk, round, fault)
		}
		a.sends.ok(0, verbs.OpWrite)
	}
}

// placementOrder has data in memory when the flag of a later WRITE is.
func placementOrder(e *env) {
	a, b := e.pair(verbs.RC)
	size := min(e.longest(), 32<<10)
	r := e.rig(a, b, 2*size)
	flag, flags := a.memory(64), b.memory(64)
	for round := range e.suite.Rounds {
		now := byte(round + 1)
		r.ma.store(0, fill(size, now))
		flag.setWord(0, uint64(round+1))
		n, m := 1+e.rand.IntN(size), 1+e.rand.IntN(size)
		wrs := []verbs.SendWR{
			{Op: verbs.OpWrite, SGEs: []verbs.SGE{r.ma.SGE(0, n)}, RemoteAddr: r.mb.addr(0), RKey: r.mb.RKey()},
			{Op: verbs.OpWrite, SGEs: []verbs.SGE{r.ma.SGE(0, m)}, RemoteAddr: r.mb.addr(size), RKey: r.mb.RKey()},
			{Op: verbs.OpWrite, Flags: verbs.Signaled, SGEs: []verbs.SGE{flag.SGE(0, 8)}, RemoteAddr: flags.addr(0), RKey: flags.RKey()},
		}
		e.posts(a, wrs)
		there := false
		flags.await("the flag", func() bool {
			if flags.word(0) != uint64(round+1) {
				return false
			}
			there = r.mb.equal(0, fill(n, now)) && r.mb.equal(size, fill(m, now))
			return true
		})
		if !there {
			e.Fatalf("number %d: the flag is there, the %d and %d bytes before it are not", round, n, m)
		}
		a.sends.ok(0, verbs.OpWrite)
	}
}

// completionOrder has the data of WRITEs in memory when the completion of a later
// request is at the receiver.
func completionOrder(op verbs.Op) func(*env) {
	return func(e *env) {
		a, b := e.pair(verbs.RC)
		size := min(e.longest(), 32<<10)
		r := e.rig(a, b, 2*size)
		for round := range e.suite.Rounds {
			now := byte(round + 1)
			r.ma.store(0, fill(size, now))
			n := 1 + e.rand.IntN(size)
			b.recv(uint64(round), r.mb.SGE(2*size, 8))
			wrs := []verbs.SendWR{
				{Op: verbs.OpWrite, SGEs: []verbs.SGE{r.ma.SGE(0, n)}, RemoteAddr: r.mb.addr(0), RKey: r.mb.RKey()},
				{ID: 1, Op: op, Flags: verbs.Signaled, SGEs: []verbs.SGE{r.ma.SGE(0, 8)}, RemoteAddr: r.mb.addr(2 * size), RKey: r.mb.RKey()},
			}
			e.posts(a, wrs)
			if wc := b.recvs.next(); wc.Status != verbs.StatusOK || !r.mb.equal(0, fill(n, now)) || !r.mb.equal(2*size, fill(8, now)) {
				e.Fatalf("number %d: the receiver's completion (%v) is there, the %d bytes before it are not", round, wc.Status, n)
			}
			a.sends.ok(1, op)
		}
	}
}

// deliveryOrder has messages come in the order in which they were posted.
func deliveryOrder(e *env) {
	a, b := e.pair(verbs.RC)
	from, to := a.memory(32*8), b.memory(32*8)
	next := uint64(0)
	for range max(e.suite.Rounds/8, 4) {
		for i := range 32 {
			b.recv(uint64(i), to.SGE(8*i, 8))
		}
		for i := range 32 {
			from.setWord(8*i, next+uint64(i))
			wr := verbs.SendWR{ID: uint64(i), Op: verbs.OpSend, SGEs: []verbs.SGE{from.SGE(8*i, 8)}}
			if i == 31 {
				wr.Flags = verbs.Signaled
			}
			a.post(wr)
		}
		for i := range 32 {
			b.recvs.ok(uint64(i), verbs.OpRecv)
			if got := to.word(8 * i); got != next {
				e.Fatalf("message %d came in place of %d", got, next)
			}
			next++
		}
		a.sends.ok(31, verbs.OpSend)
	}
}

// fetchOrder reads memory that a program changes: it stores the words behind the
// first one, and then the first. A READ that has the new first word has the
// others too, if it fetches in ascending order.
func fetchOrder(e *env) {
	a, b := e.pair(verbs.RC)
	chunk, words := e.near.caps.FetchOrder.Chunk, 64
	if !e.near.caps.FetchOrder.Ascending() {
		words = min(words, chunk/8)
	}
	r := e.rig(a, b, 2*chunkBytes(words))
	base := guard + int(-r.mb.addr(guard)%uint64(chunkBytes(words)))
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for k := uint64(1); ; k++ {
			for i := words - 1; i >= 0; i-- {
				r.mb.setWord(base+8*i, k)
			}
			select {
			case <-stop:
				return
			default:
			}
		}
	}()
	defer func() { close(stop); <-stopped }()
	for changes, last := 0, uint64(0); changes < e.suite.Rounds; {
		a.do(verbs.SendWR{Op: verbs.OpRead, SGEs: []verbs.SGE{r.ma.SGE(guard, 8*words)}, RemoteAddr: r.mb.addr(base), RKey: r.mb.RKey()})
		first := r.ma.word(guard)
		for i := 1; i < words; i++ {
			if got := r.ma.word(guard + 8*i); got < first {
				e.Fatalf("word 0 is %d, word %d was fetched earlier: %d", first, i, got)
			}
		}
		if first != last {
			changes, last = changes+1, first
		}
	}
}

func chunkBytes(words int) int { return 8 * words }

// readAfterWrite has a READ see what an earlier WRITE that completed has put
// there.
func readAfterWrite(e *env) {
	a, b := e.pair(verbs.RC)
	size := min(e.longest(), 16<<10)
	r := e.rig(a, b, size)
	back := a.memory(size)
	for round := range e.suite.Rounds {
		n := 1 + e.rand.IntN(size)
		data := e.noise(n)
		r.ma.store(0, data)
		a.do(verbs.SendWR{Op: verbs.OpWrite, SGEs: []verbs.SGE{r.ma.SGE(0, n)}, RemoteAddr: r.mb.addr(0), RKey: r.mb.RKey()})
		a.do(verbs.SendWR{Op: verbs.OpRead, SGEs: []verbs.SGE{back.SGE(0, n)}, RemoteAddr: r.mb.addr(0), RKey: r.mb.RKey()})
		if !back.equal(0, data) {
			e.Fatalf("number %d: READ has other bytes than the WRITE of %d bytes that completed before it", round, n)
		}
	}
}

// fence has a fenced request wait for the READ before it, whose result it sends.
func fence(e *env) {
	a, b := e.pair(verbs.RC)
	size := min(e.longest(), 32<<10)
	r := e.rig(a, b, 2*size)
	op := verbs.OpSend
	if e.near.caps.Can(verbs.RC, verbs.OpWrite) {
		op = verbs.OpWrite
	}
	for range max(e.suite.Rounds/4, 8) {
		data := e.noise(size)
		r.mb.store(0, data)
		r.ma.store(0, e.noise(size))
		if op == verbs.OpSend {
			b.recv(0, r.mb.SGE(size, size))
		}
		wrs := []verbs.SendWR{
			{ID: 1, Op: verbs.OpRead, Flags: verbs.Signaled, SGEs: []verbs.SGE{r.ma.SGE(0, size)}, RemoteAddr: r.mb.addr(0), RKey: r.mb.RKey()},
			{ID: 2, Op: op, Flags: verbs.Signaled | verbs.Fence, SGEs: []verbs.SGE{r.ma.SGE(0, size)}, RemoteAddr: r.mb.addr(size), RKey: r.mb.RKey()},
		}
		e.posts(a, wrs)
		a.sends.ok(1, verbs.OpRead)
		a.sends.ok(2, op)
		if op == verbs.OpSend {
			b.recvs.ok(0, verbs.OpRecv)
		}
		r.mb.await("the fenced message", func() bool { return r.mb.equal(size, data) })
	}
}

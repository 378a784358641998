package channel

import (
	"fmt"
	"sync/atomic"

	"heddle/verbs"
)

// The list of free slots. Message n goes to the slot of the list's n-th entry: at
// first slot n, and from then on the slots as the receiver gives them back, in any
// order, so that a message that is kept holds up no other. The list is in memory of
// the receiver, entry n at place n modulo its length, a sealed word of the slot and
// of the lap that the entry is of. The sender READs it, from the first entry on
// that it does not know, when it is short of slots: the receiver does nothing for
// that. An entry is written anew only after all slots went round once, for which
// the sender must have read it.

// listed is an entry's number.
func listed(slot uint32, n, length uint64) uint32 { return slot | uint32(n/length)<<16 }

// vacancies are the receiver's side.
type vacancies struct {
	memory *region // mapped twice
	length uint64  // of the list, entries; at least as many as there are slots
	salt   uint64
	slots  []uint32      // of the last entries, by number
	next   atomic.Uint64 // number of the next entry; changed with the end's lock only
}

func (e *end) newVacancies(slots int) (*vacancies, error) {
	memory, err := e.newRegion(8*slots, true, verbs.RemoteRead)
	if err != nil {
		return nil, err
	}
	v := &vacancies{memory: memory, length: uint64(memory.mem.Size() / 8), salt: newSalt(), slots: make([]uint32, slots)}
	for i := range v.slots {
		v.slots[i] = uint32(i)
	}
	v.next.Store(uint64(slots))
	return v, nil
}

// slot is where message n goes; there is none where the sender cannot know of one.
func (v *vacancies) slot(n uint64) (slot uint32, ok bool) {
	return v.slots[n%uint64(len(v.slots))], n < v.next.Load()
}

// add gives a slot back.
func (v *vacancies) add(slot uint32) {
	n := v.next.Load()
	v.slots[n%uint64(len(v.slots))] = slot
	store(v.memory.b, int(n%v.length)*8, seal(listed(slot, n, v.length), v.salt))
	v.next.Store(n + 1)
}

func (v *vacancies) free() error {
	if v == nil {
		return nil
	}
	return v.memory.free()
}

// listRead is how many entries a sender READs at most.
const listRead = 512

// openings are the sender's side.
type openings struct {
	peer   *Peer
	from   remote
	salt   uint64
	length uint64
	at     *region // where entries come to
	window uint64  // how many of them
	slots  []uint32
	used   []bool // by slot: its message is under way, or with the receiver
	taken  uint64 // number of the next message
	next   uint64 // of the first entry that is not known
	low    uint64 // how few slots there are when more are looked for
	read   uint64 // the READ that is under way, 0 if none is
	wr     verbs.SendWR
}

func (e *end) newOpenings(p *Peer, h *hello, from remote) (*openings, error) {
	window := min(uint64(h.slots), listRead, uint64(e.longest(8*listRead))/8)
	at, err := e.newRegion(int(8*window), false, verbs.LocalWrite)
	if err != nil {
		return nil, err
	}
	o := &openings{
		peer: p, from: from, salt: h.salt, length: h.ring / 8, at: at, window: window,
		slots: make([]uint32, h.slots), used: make([]bool, h.slots), next: uint64(h.slots), low: uint64(h.slots) / 2,
	}
	for i := range o.slots {
		o.slots[i] = uint32(i)
	}
	o.wr = verbs.SendWR{Op: verbs.OpRead, SGEs: []verbs.SGE{at.mr.SGE(0, int(8*window))}, RKey: from.rkey}
	return o, nil
}

// room tells whether there is a slot, and looks for more of them in time.
func (o *openings) room() error {
	if err := o.look(); err != nil {
		return err
	}
	if o.next-o.taken <= o.low {
		if err := o.ask(); err != nil && (!blocked(err) || o.next == o.taken) {
			return err
		}
	}
	if o.next == o.taken {
		return ErrWouldBlock
	}
	return nil
}

// first is the slot of the next message, which take then uses.
func (o *openings) first() uint32 { return o.slots[o.taken%uint64(len(o.slots))] }

func (o *openings) take() {
	o.used[o.first()] = true
	o.taken++
}

// ask has the list read, unless that is being done.
func (o *openings) ask() error {
	if o.read != 0 {
		return nil
	}
	o.wr.RemoteAddr = o.from.addr + o.next%o.length*8
	if err := o.peer.post(&o.wr, true); err != nil {
		return err
	}
	o.read = o.peer.posted
	o.peer.end.credits++
	return nil
}

// look takes the entries that have come. After a READ without new ones the next
// has time until half of the slots are used that are left.
func (o *openings) look() error {
	if o.read == 0 {
		return nil
	}
	if !o.peer.isDone(o.read) {
		if err := o.peer.end.reap(); err != nil {
			return err
		}
	}
	switch {
	case o.peer.gone != nil:
		return o.peer.gone
	case !o.peer.isDone(o.read):
		return nil
	}
	o.read, o.low = 0, (o.next-o.taken)/2
	for i := range int(o.window) {
		number, ok := unseal(load(o.at.b, 8*i), o.salt)
		if !ok || number>>16 != listed(0, o.next, o.length)>>16 {
			break // torn, or of the lap before
		}
		if err := o.add(number & 0xffff); err != nil {
			o.peer.lose(err)
			return o.peer.gone
		}
		o.low = uint64(len(o.slots)) / 2
	}
	return nil
}

// add takes an entry, which must be of a slot that was used.
func (o *openings) add(slot uint32) error {
	if int(slot) >= len(o.used) || !o.used[slot] {
		return fmt.Errorf("slot %d was given back, which was not used: %w", slot, ErrInvalid)
	}
	o.used[slot] = false
	o.slots[o.next%uint64(len(o.slots))] = slot
	o.next++
	return nil
}

func (o *openings) free() error {
	if o == nil {
		return nil
	}
	return o.at.free()
}

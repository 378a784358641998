package channel

// ledger holds which parts of a ring have been delivered and not given back. They
// are given back in any order, and the ring's head moves over those at its
// beginning that were.
type ledger struct {
	head    uint64 // all before it was given back
	first   uint64 // number of the oldest entry
	next    uint64 // of the next one
	entries []entry
}

type entry struct {
	end  uint64 // where the next one begins
	free bool
}

func (l *ledger) at(number uint64) *entry { return &l.entries[number&uint64(len(l.entries)-1)] }

// deliver adds a part that ends there, and gives its number.
func (l *ledger) deliver(end uint64) (number uint64) {
	if l.next-l.first == uint64(len(l.entries)) {
		l.grow()
	}
	number = l.next
	*l.at(number) = entry{end: end}
	l.next++
	return number
}

func (l *ledger) grow() {
	old := *l
	l.entries = make([]entry, max(16, 2*len(old.entries)))
	for i := old.first; i < old.next; i++ {
		*l.at(i) = *old.at(i)
	}
}

// release gives a part back, and tells whether the head moved.
func (l *ledger) release(number uint64) (moved bool) {
	if number < l.first || number >= l.next {
		return false
	}
	l.at(number).free = true
	for l.first < l.next && l.at(l.first).free {
		l.head = l.at(l.first).end
		l.first++
		moved = true
	}
	return moved
}

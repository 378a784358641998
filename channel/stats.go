package channel

// Stats are the counts of an end.
type Stats struct {
	// Messages and Bytes were committed, or received.
	Messages, Bytes uint64
	// Copied are the bytes of messages that the channel copied after they came.
	Copied uint64
	// Memory is how many bytes the end has registered.
	Memory int
	// Peers are how many there are now.
	Peers int
}

// Stats gives the counts so far. It may be called by any goroutine.
func (e *end) Stats() Stats {
	e.mu.Lock()
	defer e.mu.Unlock()
	return Stats{Messages: e.committed + e.received, Bytes: e.bytes, Copied: uint64(e.copied), Memory: e.registered, Peers: e.count}
}

// Blocks tells whether Receive sleeps until a completion comes.
func (r *Receiver) Blocks() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	cq := r.p.watch().cq
	return cq != nil && cq == r.recvs
}

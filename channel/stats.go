package channel

// Stats are the counts of an end.
type Stats struct {
	// Messages and Bytes were committed, or received.
	Messages, Bytes uint64
	// Copied are the bytes of messages that the channel copied after they came.
	Copied uint64
	// Credits are the requests that told the peer of room, or asked it for that:
	// SENDs, WRITEs and READs without a message. Carried is how often a message told
	// of it beside its bytes (see Duplex).
	Credits, Carried uint64
	// Stalls is how often Reserve or Receive found nothing and began to wait, and
	// Retries how often they, and Commit, then looked again.
	Stalls, Retries uint64
	// Memory is how many bytes the end has registered.
	Memory int
	// Peers are how many there are now.
	Peers int
}

// Stats gives the counts so far. It may be called by any goroutine.
func (e *end) Stats() Stats {
	e.mu.Lock()
	defer e.mu.Unlock()
	return Stats{
		Messages: e.committed + e.received, Bytes: e.bytes, Copied: uint64(e.copied), Credits: e.credits, Carried: e.carried,
		Stalls: e.stalls.Load(), Retries: e.retries.Load(), Memory: e.registered, Peers: e.count,
	}
}

// TransportStats are the counts of a transport.
type TransportStats struct {
	// Waiting is how many receivers wait now.
	Waiting int
	// Waits is how many waits there were beyond a moment's looking, and Woken how many of
	// them another receiver's wait ended, which had the device wait for all.
	Waits, Woken uint64
}

// Stats gives the counts so far.
func (t *Transport) Stats() TransportStats {
	p := t.wait
	p.mu.Lock()
	defer p.mu.Unlock()
	return TransportStats{Waiting: len(p.list), Waits: p.waits, Woken: p.woken}
}

// Blocks tells whether Receive sleeps until a completion comes.
func (r *Receiver) Blocks() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	cq := r.p.watch().cq
	return cq != nil && cq == r.recvs
}

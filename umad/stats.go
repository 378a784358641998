package umad

import "sync/atomic"

// Stats counts what a Port did and what it ignored.
type Stats struct {
	Requests  uint64 // sent, each once however often it was resent
	Resent    uint64 // requests sent again
	Answers   uint64 // matched with their request
	Timeouts  uint64 // requests given up
	Cancelled uint64 // requests whose caller went away

	// Stray are answers that nobody waits for: late ones and duplicates.
	Stray uint64
	// Mismatched are answers with the transaction ID of a request, but of
	// another class, method or attribute.
	Mismatched uint64

	Handled     uint64 // requests given to a handler
	Unsupported uint64 // requests refused, as no handler has their method
	Malformed   uint64 // datagrams too short or of another base version
	SendErrors  uint64 // resends and answers that the device refused

	Transfers      uint64 // begun by RMPP, in both directions
	TransferErrors uint64 // those that failed
	Duplicates     uint64 // requests whose answer is being sent by RMPP
}

// counters is Stats while it is counted.
type counters struct {
	requests, resent, answers, timeouts, cancelled atomic.Uint64
	stray, mismatched                              atomic.Uint64
	handled, unsupported, malformed, sendErrors    atomic.Uint64
	transfers, transferErrors, duplicates          atomic.Uint64
}

// Stats is a snapshot of the counters.
func (p *Port) Stats() Stats {
	c := &p.counters
	return Stats{
		Requests: c.requests.Load(), Resent: c.resent.Load(), Answers: c.answers.Load(),
		Timeouts: c.timeouts.Load(), Cancelled: c.cancelled.Load(),
		Stray: c.stray.Load(), Mismatched: c.mismatched.Load(),
		Handled: c.handled.Load(), Unsupported: c.unsupported.Load(),
		Malformed: c.malformed.Load(), SendErrors: c.sendErrors.Load(),
		Transfers: c.transfers.Load(), TransferErrors: c.transferErrors.Load(), Duplicates: c.duplicates.Load(),
	}
}

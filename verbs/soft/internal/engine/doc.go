// Package engine is the transport of InfiniBand without a clock, a socket or a
// goroutine: packets and posted requests in; packets, completions and the time of
// the next timer out. Its owner calls it under a lock of its own, tells it what
// time it is, and calls Flush when it is done:
//
//	e.Tell(now)
//	e.Receive(batch)          // packets that came
//	qp.PostSend(wr)           // and what else there is
//	e.Flush()                 // acknowledges, and has Send called with the rest
//	at, some := e.Next()      // when Advance has to be called, which runs timers
//
// # Reliable connections
//
// Packets are numbered by 64 bits here and by the lower 24 on the wire. What is
// lost is sent again from there on (go-back-N): after a NAK for a gap at once,
// after Timeout without progress, or after the peer's RNR timer. At most 256
// packets of a QP are under way. Long READs are asked for by requests of up to 32
// packets, as many at once as the peer allows. One acknowledgement is sent for all
// that a call of Receive brought; it has no credits (syndrome 0x1f). Nothing is
// executed twice: a READ that comes again is read again, the results of atomics
// are kept.
//
// # Sources
//
// InfiniBand Architecture Specification, volume 1: 9.7 (RC), 9.8 (UC, UD), 9.9
// (errors), 10.3.1 (states).
package engine

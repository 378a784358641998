// Package perf measures operations between two queue pairs, as perftest and the
// pingpong examples of rdma-core do: round trips, streams, and how long a
// receiver that sleeps takes to wake up. With Check, each byte that comes is
// compared with what was sent.
//
// Each end has an [End], an opened device, and a [Link], a connection over which
// both agree on a [Spec] and tell each other how to connect. One end calls
// [Link.Run], the other [Link.Serve].
//
// # What is measured
//
// A SEND, with or without immediate, and a WRITE with immediate go to a receiver
// that polls its completion queue. A WRITE goes to one that polls the last bytes
// of its memory, by atomic loads; the device must promise that these come last.
// READ and the atomics concern one end alone, the other does nothing.
//
// Latency is half a round trip, but of READ and the atomics a whole one. A stream
// is timed by who takes the messages. A WRITE in a stream goes to the next of a
// ring of slots; the receiver sees each message, and from time to time writes
// back how far it is.
//
// # Channels
//
// [Link.RunChannel] sends messages over channels of any kind, or over a socket,
// between the same two ends: one by one, each reserved, committed, received and
// given back on its own; from one to one, from many to one, from one to many. It
// is told a time, not a number of messages: the last one is empty.
package perf

// Package queue is what all software devices have in common: the table of
// registered memory, completion queues, the rings of posted requests, and the
// state machine of queue pairs. It moves no data and knows no peer.
//
//	Regions  memory by key, with rights and bounds: Local, Remote
//	CQ       a verbs.CQ that a device pushes completions to
//	Sends    posted requests of a send queue, copied, in order
//	Recvs    posted buffers of a QP or an SRQ
//	Allowed  whether a QP may go from one state to another
package queue

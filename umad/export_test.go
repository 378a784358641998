package umad

import "heddle/ib"

// QueuePair is the queue pair that a client of ibsim sends from.
func QueuePair(d Device) ib.QPN { return d.(*IBSim).link.qp }

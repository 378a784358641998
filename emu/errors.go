package emu

import "errors"

// Errors wrap these where callers decide on them.
var (
	// ErrNoNode is the error of a name that no node or port has.
	ErrNoNode = errors.New("not in the fabric")
	// ErrFull says that no more clients can attach.
	ErrFull = errors.New("no place for another client")
	// ErrTaken says that a port has a host.
	ErrTaken = errors.New("the port has a host already")
	// ErrPacket is the error of bytes that are no data packet.
	ErrPacket = errors.New("not a packet for the network")
)

package emu

import "errors"

// Errors wrap these where callers decide on them.
var (
	// ErrNoNode is the error of a name that no node or port has.
	ErrNoNode = errors.New("not in the fabric")
	// ErrFull says that no more clients can attach.
	ErrFull = errors.New("no place for another client")
)

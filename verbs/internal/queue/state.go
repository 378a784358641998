package queue

import (
	"fmt"

	"heddle/verbs"
)

// Allowed tells whether Modify may take a QP from one state to another (IBTA
// 10.3.1). Connect alone goes to RTR, and from there to RTS.
func Allowed(t verbs.QPType, from, to verbs.QPState) bool {
	switch to {
	case verbs.Reset, verbs.Err:
		return true
	case verbs.Init:
		return from == verbs.Reset || from == verbs.Init
	case verbs.RTR:
		return false
	case verbs.RTS:
		return from == verbs.SQD || from == verbs.RTS || from == verbs.SQE && t != verbs.RC
	case verbs.SQD:
		return from == verbs.RTS || from == verbs.SQD
	case verbs.SQE:
		return false
	default:
		return false
	}
}

// Refused is the error of a Modify that is not allowed.
func Refused(t verbs.QPType, from, to verbs.QPState) error {
	return &verbs.OpError{Verb: fmt.Sprintf("modify %v QP from %v to %v", t, from, to), Err: verbs.ErrState}
}

// CanPostSend tells whether a state takes requests: in error they complete as
// flushed.
func CanPostSend(s verbs.QPState) bool {
	return s == verbs.RTS || s == verbs.SQD || s == verbs.SQE || s == verbs.Err
}

// CanPostRecv tells whether a state takes buffers.
func CanPostRecv(s verbs.QPState) bool { return s != verbs.Reset }

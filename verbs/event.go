package verbs

import "heddle/ib"

// EventType is what an asynchronous event is about.
type EventType uint8

// The events.
const (
	EventCQ EventType = iota + 1 // the CQ has overrun
	EventQPFatal
	EventQPRequest
	EventQPAccess
	EventEstablished
	EventSQDrained
	EventSRQ
	EventSRQLimit
	EventLastWQE
	EventDeviceFatal
	EventPortActive
	EventPortError
	EventGIDs
	EventLID
	EventPKeys
	EventReregister
	EventPeerGone // the peer of a QP died; of devices that see that at once
)

// Event is an asynchronous event, of what is not zero.
type Event struct {
	Type EventType
	CQ   CQ
	QP   QP
	SRQ  SRQ
	Port uint8
	QPN  ib.QPN // of QP
}

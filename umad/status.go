package umad

import (
	"fmt"

	"heddle/mad"
)

// StatusError is an answer that says no.
type StatusError struct {
	Op     mad.Method // of the answer
	Class  mad.Class
	Attr   mad.AttrID
	Status mad.Status
}

// Error names the request and what is wrong with it.
func (e *StatusError) Error() string {
	return fmt.Sprintf("%s %s %s: status %#04x: %s", e.Class, e.Op, e.Attr.Name(e.Class), uint16(e.Status), e.text())
}

func (e *StatusError) text() string {
	text, ok := saText[e.Status&classStatus]
	if e.Class != mad.ClassSA || !ok {
		return e.Status.String()
	}
	if common := e.Status &^ classStatus; common != 0 {
		return text + ", " + common.String()
	}
	return text
}

// classStatus is the part of a status that each class defines.
const classStatus mad.Status = 0x7f00

// saText is what subnet administration makes of it.
var saText = map[mad.Status]string{
	mad.StatusSANoResources:        "no resources",
	mad.StatusSARequestInvalid:     "request invalid",
	mad.StatusSANoRecords:          "no records",
	mad.StatusSATooManyRecords:     "too many records",
	mad.StatusSAInvalidGID:         "requester's GID invalid",
	mad.StatusSAInsufficientFields: "insufficient components",
	mad.StatusSADenied:             "request denied",
	mad.StatusSAPriority:           "priority suggested",
}

// StatusError is nil where the status of an answer is 0, and else a
// *StatusError.
func (m *Message) StatusError() error {
	d := m.Datagram()
	if d.Status() == mad.StatusOK {
		return nil
	}
	return &StatusError{Op: d.Method(), Class: d.Class(), Attr: d.Attr(), Status: d.Status()}
}

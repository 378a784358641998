package umad

import (
	"encoding/binary"
	"fmt"

	"heddle/ib"
	"heddle/mad"
)

// headerLen is the length of the common header, the least that a Message
// holds.
const headerLen = 24

// Datagram is the first mad.Size bytes of the message, to be read and written
// in place. Of a shorter message, as RMPP may carry, it is a copy that ends in
// zeros.
func (m *Message) Datagram() *mad.Datagram {
	if len(m.Data) >= mad.Size {
		return (*mad.Datagram)(m.Data)
	}
	d := new(mad.Datagram)
	copy(d[:], m.Data)
	return d
}

// Clone is a copy that shares nothing with m.
func (m *Message) Clone() *Message {
	c := *m
	c.Data = append([]byte(nil), m.Data...)
	if m.GRH != nil {
		grh := *m.GRH
		c.GRH = &grh
	}
	return &c
}

// Reply makes of a request its answer, in place: the answering method, the
// status, and on a directed route the way back. The address stays that of the
// other side, the data that of the request. It fails for a method that nothing
// answers.
func (m *Message) Reply(status mad.Status) error {
	if len(m.Data) < headerLen {
		return fmt.Errorf("message of %d bytes: %w", len(m.Data), mad.ErrShort)
	}
	method := mad.Method(m.Data[3])
	answer, ok := method.Response()
	if !ok {
		return fmt.Errorf("nothing answers the method %s", method)
	}
	m.Data[3] = byte(answer)
	if mad.Class(m.Data[1]) == mad.ClassDirected {
		status |= directionBit
	}
	binary.BigEndian.PutUint16(m.Data[4:], uint16(status))
	return nil
}

// directionBit is set in the status of a directed-route SMP on its way back.
const directionBit mad.Status = 0x8000

// single makes of a message by RMPP a single datagram, with what fits of its
// data.
func (m *Message) single() {
	m.Data = m.Datagram()[:]
	m.Datagram().SetRMPP(mad.RMPPHeader{})
}

// key is what tells a transaction and its answer from others.
type key struct {
	class  mad.Class
	method mad.Method
	attr   mad.AttrID
}

// newKey is the key of an answer. What is asked by pairs of ports is answered
// by paths, or refused under its own name (IBTA 1, 15.2.5.21).
func newKey(class mad.Class, method mad.Method, attr mad.AttrID) key {
	if class == mad.ClassSA && method == mad.MethodGetMultiResp && attr == mad.AttrMultiPathRecord {
		attr = mad.AttrPathRecord
	}
	return key{class, method, attr}
}

// answerKey is the key of the answer to a request. ok is false where nothing
// answers the request.
func answerKey(h mad.Header) (k key, ok bool) {
	method, ok := h.Method.Response()
	return newKey(h.Class, method, h.Attr), ok
}

// String is the address for messages: LID, GID or "directed route".
func (a Address) String() string {
	switch {
	case a.GRH != nil:
		return a.GRH.GID.String()
	case a.LID == ib.PermissiveLID:
		return "directed route"
	default:
		return "LID " + a.LID.String()
	}
}

// setAddress makes m's address a copy of a, with a GRH of its own in grh.
func (m *Message) setAddress(a Address, grh *GRH) {
	m.Address = a
	if a.GRH != nil {
		*grh = *a.GRH
		m.GRH = grh
	}
}

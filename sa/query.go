package sa

import (
	"context"
	"errors"
	"fmt"

	"heddle/mad"
	"heddle/umad"
)

// ErrCut says that of a table only the first record came, as whoever answered
// left RMPP to a device that does none: OpenSM on ibsim. Whether there are more
// records, nobody knows.
var ErrCut = errors.New("the answer is the first datagram of a table that was not sent by RMPP")

// Get asks for the one record whose fields in the mask are those of query, of
// any type of package mad:
//
//	node, err := sa.Get(ctx, client, mad.NodeRecord{LID: 3}, mad.NodeRecordLID)
//
// The error is a *umad.StatusError with StatusSANoRecords where there is none,
// and with StatusSATooManyRecords where there are more.
func Get[R mad.Record](ctx context.Context, c *Client, query R, mask mad.ComponentMask) (R, error) {
	return exchange(ctx, c, mad.MethodGet, query, mask)
}

// Query asks for all records whose fields in the mask are those of query; an
// empty mask asks for all that there are. Where none are, the table is empty.
// An error that wraps ErrCut comes with the one record that was not lost, if it
// was short enough to come whole.
func Query[R mad.Record](ctx context.Context, c *Client, query R, mask mad.ComponentMask) ([]R, error) {
	m, err := c.ask(ctx, mad.MethodGetTable, query.AttrID(), query, mask)
	return table[R](m, err)
}

// Paths asks for paths from each of some ports to each of others.
func (c *Client) Paths(ctx context.Context, query mad.MultiPathRecord, mask mad.ComponentMask) ([]mad.PathRecord, error) {
	if err := query.Check(); err != nil {
		return nil, err
	}
	mask |= mad.MultiPathRecordSGIDCount | mad.MultiPathRecordDGIDCount
	m, err := c.insist(ctx, func() (*umad.Message, error) { return c.longRequest(mad.MethodGetMulti, query, mask) })
	return table[mad.PathRecord](m, err)
}

// longRequest is a request by RMPP.
func (c *Client) longRequest(method mad.Method, r mad.MultiPathRecord, mask mad.ComponentMask) (*umad.Message, error) {
	to, err := c.server()
	if err != nil {
		return nil, err
	}
	data := mad.Header{Class: mad.ClassSA, ClassVersion: classVersion, Method: method, Attr: r.AttrID()}.AppendTo(nil)
	data = mad.SAHeader{
		RMPP:  mad.RMPPHeader{Version: mad.RMPPVersion, Type: mad.RMPPData, RespTime: mad.RMPPNoRespTime, Flags: mad.RMPPActive},
		SMKey: c.options.SMKey, ComponentMask: mask,
	}.AppendTo(data)
	return &umad.Message{Address: to, Data: r.AppendTo(data)}, nil
}

// table reads the records of an answer.
func table[R mad.Record](m *umad.Message, err error) ([]R, error) {
	var status *umad.StatusError
	if errors.As(err, &status) && status.Status == mad.StatusSANoRecords {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	d := m.Datagram()
	offset := d.AttributeOffset()
	h := d.RMPP()
	if h.Flags&mad.RMPPActive == 0 || h.Unsegmented() {
		return cutTable[R](d, offset)
	}
	return records[R](m.Data[dataOffset:], offset)
}

const (
	// dataOffset is where the records begin in a datagram.
	dataOffset = 56
	// cutLen is how many bytes of them ibsim's library lets through: of a
	// datagram of 256 the last 32 are others.
	cutLen = 168
)

// cutTable reads the first record of a table that came as one datagram. What
// follows may be the next record, or what OpenSM happened to have in its
// memory there.
func cutTable[R mad.Record](d *mad.Datagram, offset uint16) ([]R, error) {
	if offset == 0 {
		return nil, nil // so OpenSM marks the empty table
	}
	var r R
	if r.Len() > cutLen {
		return nil, ErrCut
	}
	r, err := parse[R](d.Data())
	if err != nil {
		return nil, fmt.Errorf("read table: %w", err)
	}
	return []R{r}, ErrCut
}

func records[R mad.Record](data []byte, offset uint16) ([]R, error) {
	var all []R
	if size := int(offset) * 8; size > 0 {
		all = make([]R, 0, len(data)/size+1)
	}
	for r, err := range mad.Table(data, offset, parse[R]) {
		if err != nil {
			return nil, fmt.Errorf("read table: %w", err)
		}
		all = append(all, r)
	}
	return all, nil
}

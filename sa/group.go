package sa

import (
	"context"
	"errors"
	"fmt"

	"heddle/mad"
	"heddle/umad"
)

// MCMemberCreate are the fields without which a join makes no group: a join of
// a group that exists needs none of them.
const MCMemberCreate = mad.MCMemberRecordQKey | mad.MCMemberRecordTClass | mad.MCMemberRecordPKey |
	mad.MCMemberRecordSL | mad.MCMemberRecordFlowLabel

// member fills in what a join or a leave needs: the port is the client's own
// where the record names none, and a member a full one.
func (c *Client) member(r mad.MCMemberRecord, mask mad.ComponentMask) (mad.MCMemberRecord, mad.ComponentMask, error) {
	if !r.PortGID.IsValid() {
		gid, err := c.own()
		if err != nil {
			return r, 0, err
		}
		r.PortGID = gid
	}
	if r.JoinState == 0 {
		r.JoinState = mad.JoinFull
	}
	if r.MGID.IsValid() {
		mask |= mad.MCMemberRecordMGID
	}
	return r, mask | mad.MCMemberRecordPortGID | mad.MCMemberRecordJoinState, nil
}

// Join makes a port a member of the group r.MGID: that of r.PortGID, for which
// the client may ask where both share a partition, or else the client's own.
// JoinState 0 means a full member. The mask adds fields that count, such as
// MCMemberCreate for a group that may not exist yet; with an MGID of zeros
// subnet administration gives the new group one. The answer has the group's
// MLID and parameters. Joining twice is as good as once, but the JoinStates add
// up. The answer may come before the group's routes do.
func (c *Client) Join(ctx context.Context, r mad.MCMemberRecord, mask mad.ComponentMask) (mad.MCMemberRecord, error) {
	r, mask, err := c.member(r, mask)
	if err != nil {
		return mad.MCMemberRecord{}, fmt.Errorf("join: %w", err)
	}
	joined, err := exchange(ctx, c, mad.MethodSet, r, mask)
	if err != nil {
		return mad.MCMemberRecord{}, fmt.Errorf("join %s: %w", r.MGID.GID(), err)
	}
	return joined, nil
}

// Leave takes the JoinState of r away from a member; with none left it is no
// member any more. PortGID and JoinState are as in Join.
func (c *Client) Leave(ctx context.Context, r mad.MCMemberRecord) error {
	r, mask, err := c.member(r, 0)
	if err != nil {
		return fmt.Errorf("leave: %w", err)
	}
	if _, err := exchange(ctx, c, mad.MethodDelete, r, mask); err != nil {
		return fmt.Errorf("leave %s: %w", r.MGID.GID(), err)
	}
	return nil
}

// JoinAll is Join for many records, several of which are outstanding at a time:
// see Options.Window. The goroutine that called it calls done for each, in the
// order of the answers, with the record's index. The error says that not all
// were asked for, or that not all were answered when the context ended.
func (c *Client) JoinAll(ctx context.Context, all []mad.MCMemberRecord, mask mad.ComponentMask, done func(i int, r mad.MCMemberRecord, err error)) error {
	return c.memberAll(ctx, mad.MethodSet, all, mask, done)
}

// LeaveAll is Leave for many records, as JoinAll is Join.
func (c *Client) LeaveAll(ctx context.Context, all []mad.MCMemberRecord, done func(i int, err error)) error {
	return c.memberAll(ctx, mad.MethodDelete, all, 0, func(i int, _ mad.MCMemberRecord, err error) { done(i, err) })
}

// batch is a JoinAll or a LeaveAll that runs.
type batch struct {
	c       *Client
	method  mad.Method
	mask    mad.ComponentMask
	all     []mad.MCMemberRecord
	next    int   // index of the first that was never sent
	again   []int // indices that subnet administration was too busy for
	waiting int   // outstanding
	results chan result
	wait    backoff
	port    *umad.Batch
	done    func(int, mad.MCMemberRecord, error)
}

// result is what came of the record of an index.
type result struct {
	i    int
	r    mad.MCMemberRecord
	busy bool
	err  error
}

func (c *Client) memberAll(ctx context.Context, method mad.Method, all []mad.MCMemberRecord, mask mad.ComponentMask, done func(int, mad.MCMemberRecord, error)) error {
	b := &batch{c: c, method: method, mask: mask, all: all, results: make(chan result, c.options.Window), port: c.port.Batch(), done: done}
	for b.waiting > 0 || b.next < len(all) || len(b.again) > 0 {
		if err := b.fill(); err != nil {
			return err
		}
		select {
		case r := <-b.results:
			if err := b.take(ctx, r); err != nil {
				return err
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// take takes a result, and all others that are there: what is asked next then
// goes out together.
func (b *batch) take(ctx context.Context, r result) error {
	busy := false
	for more := true; more; {
		busy = b.ended(r) || busy
		select {
		case r = <-b.results:
		default:
			more = false
		}
	}
	if busy {
		return b.wait.sleep(ctx)
	}
	return nil
}

// ended takes one result, and tells whether it is to be asked for again.
func (b *batch) ended(r result) (busy bool) {
	b.waiting--
	if errors.Is(r.err, umad.ErrTimeout) {
		b.c.lost()
	}
	if r.busy {
		b.again = append(b.again, r.i)
		return true
	}
	b.wait.next = 0
	b.done(r.i, r.r, r.err)
	return false
}

// fill sends as many as may be outstanding.
func (b *batch) fill() error {
	for b.waiting < cap(b.results) {
		i := b.next
		switch {
		case len(b.again) > 0:
			i, b.again = b.again[0], b.again[1:]
		case b.next < len(b.all):
			b.next++
		default:
			return b.port.Flush()
		}
		if err := b.start(i); err != nil {
			return err
		}
		b.waiting++
	}
	return b.port.Flush()
}

// start asks for one record. The channel has room for every answer, also when
// nobody looks at them any more.
func (b *batch) start(i int) error {
	r, mask, err := b.c.member(b.all[i], b.mask)
	if err != nil {
		return err
	}
	req, err := b.c.request(b.method, r.AttrID(), r, mask)
	if err != nil {
		return err
	}
	return b.port.Start(req, b.c.options.Call, func(m *umad.Message, err error) {
		b.results <- resultOf(i, m, err)
	})
}

func resultOf(i int, m *umad.Message, err error) result {
	if err == nil && !isBusy(m) {
		err = m.StatusError()
	}
	if err != nil {
		return result{i: i, err: err}
	}
	if isBusy(m) {
		return result{i: i, busy: true}
	}
	r, err := mad.ParseMCMemberRecord(m.Datagram().Data())
	return result{i: i, r: r, err: err}
}

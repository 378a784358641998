package sa

import (
	"context"
	"errors"
	"fmt"
	"time"

	"heddle/ib"
	"heddle/mad"
	"heddle/umad"
)

// State asks what the subnet manager is doing with a group whose members told it
// how many they will be.
func (c *Client) State(ctx context.Context, mgid ib.MGID) (mad.MCGStateRecord, error) {
	return Get(ctx, c, mad.MCGStateRecord{MGID: mgid}, mad.MCGStateRecordMGID)
}

// AwaitReady asks for the state of a group until it is Ready, with pauses that grow
// up to the longest one. A group that is not there yet is waited for; one that ends
// meanwhile is an error. The record is the last that was told, with an error too.
func (c *Client) AwaitReady(ctx context.Context, mgid ib.MGID, longest time.Duration) (r mad.MCGStateRecord, err error) {
	for pause := time.Millisecond; ; pause = min(2*pause, longest) {
		now, err := c.State(ctx, mgid)
		absent := isNoRecords(err)
		switch {
		case err == nil && now.State == mad.MCGReady:
			return now, nil
		case err == nil && now.State > mad.MCGReady, absent && r.State != 0:
			return now, fmt.Errorf("group %v: it has ended, and was never seen to be Ready", mgid)
		case err == nil:
			r = now
		case !absent:
			return r, err
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return r, context.Cause(ctx)
		}
	}
}

func isNoRecords(err error) bool {
	var status *umad.StatusError
	return errors.As(err, &status) && status.Status == mad.StatusSANoRecords
}

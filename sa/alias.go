package sa

import (
	"context"
	"fmt"

	"heddle/mad"
)

const guidInfoID = mad.GUIDInfoRecordLID | mad.GUIDInfoRecordBlock

// AddAliases gives a port GUIDs beside its own, at the indexes of a block of its
// table that the mask tells: mad.GUIDInfoRecordGUID shifted by the index. Where
// one is 0, subnet administration makes one up. The answer has 0 where the GUID
// is another port's. The LID must be that of the own port, unless subnet
// administration trusts the client.
func (c *Client) AddAliases(ctx context.Context, r mad.GUIDInfoRecord, mask mad.ComponentMask) (mad.GUIDInfoRecord, error) {
	added, err := exchange(ctx, c, mad.MethodSet, r, mask|guidInfoID)
	if err != nil {
		return mad.GUIDInfoRecord{}, fmt.Errorf("aliases of LID %v: %w", r.LID, err)
	}
	return added, nil
}

// RemoveAliases takes away the GUIDs at the indexes that the mask tells. What
// joined groups by them leaves.
func (c *Client) RemoveAliases(ctx context.Context, r mad.GUIDInfoRecord, mask mad.ComponentMask) error {
	if _, err := exchange(ctx, c, mad.MethodDelete, r, mask|guidInfoID); err != nil {
		return fmt.Errorf("remove aliases of LID %v: %w", r.LID, err)
	}
	return nil
}

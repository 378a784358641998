package sa

import (
	"context"
	"fmt"

	"heddle/mad"
)

// serviceID are the fields that tell services apart.
const serviceID = mad.ServiceRecordServiceID | mad.ServiceRecordServiceGID | mad.ServiceRecordServicePKey

// Register offers a service, or renews its lease. The GID is the port's own
// where the record has none. The mask adds the fields of the service's own data
// that count.
func (c *Client) Register(ctx context.Context, r mad.ServiceRecord, mask mad.ComponentMask) (mad.ServiceRecord, error) {
	r, err := c.service(r)
	if err != nil {
		return mad.ServiceRecord{}, err
	}
	mask |= serviceID | mad.ServiceRecordServiceLease | mad.ServiceRecordServiceKey | mad.ServiceRecordServiceName
	registered, err := exchange(ctx, c, mad.MethodSet, r, mask)
	if err != nil {
		return mad.ServiceRecord{}, fmt.Errorf("register service %#x: %w", r.ServiceID, err)
	}
	return registered, nil
}

// Unregister ends a service, which is told by ID, GID, P_Key and key.
func (c *Client) Unregister(ctx context.Context, r mad.ServiceRecord) error {
	r, err := c.service(r)
	if err != nil {
		return err
	}
	if _, err := exchange(ctx, c, mad.MethodDelete, r, serviceID|mad.ServiceRecordServiceKey); err != nil {
		return fmt.Errorf("unregister service %#x: %w", r.ServiceID, err)
	}
	return nil
}

func (c *Client) service(r mad.ServiceRecord) (mad.ServiceRecord, error) {
	if r.ServiceGID.IsValid() {
		return r, nil
	}
	gid, err := c.own()
	if err != nil {
		return r, fmt.Errorf("service %#x: %w", r.ServiceID, err)
	}
	r.ServiceGID = gid
	return r, nil
}

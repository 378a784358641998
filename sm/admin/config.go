package admin

import (
	"cmp"
	"errors"
	"fmt"

	"heddle/mad"
	"heddle/sm/group"
)

// Config is what a Server is made with. Groups must be given; what else is zero
// means the default.
type Config struct {
	// Groups is the table of groups, which is the Server's from then on.
	Groups *group.Table
	// Key is the SM_Key of whom the Server trusts, 1 by default, as OpenSM's.
	Key mad.SMKey
	// RespTime is what ClassPortInfo says of how long an answer takes, 16
	// (0.27 s) by default.
	RespTime mad.TimeValue
	Limits   Limits
	// Journal is told every change of subscriptions and services, in their
	// order; nil for none. It must not call the Server. Restore takes what it
	// was told.
	Journal func(Change)
	// Busy is asked before each request whether the requester has to try again
	// later, beside the limits; nil for never. It is called by many goroutines
	// at once.
	Busy func(from Requester, h mad.Header) bool
}

// Limits bound what requesters can have.
type Limits struct {
	// Answer is the most bytes of records in an answer, 16 MiB by default,
	// which is what heddle's client takes.
	Answer int
	// Rate is how many requests a port may ask in a second, Burst how many at
	// once; 50,000 and 100,000 by default. A request costs one for each 16
	// records or paths that were looked at, and one more. A Rate below zero is
	// none.
	Rate, Burst int
	// Subscriptions and Services are how many a port may have, 256 each by
	// default, AllSubscriptions and AllServices how many there may be, 65,536
	// each by default.
	Subscriptions, Services       int
	AllSubscriptions, AllServices int
}

var errNoGroups = errors.New("subnet administration: no table of groups")

func (c Config) filled() (Config, error) {
	if c.Groups == nil {
		return c, errNoGroups
	}
	c.Key = cmp.Or(c.Key, 1)
	c.RespTime = cmp.Or(c.RespTime, 16)
	l := &c.Limits
	l.Answer = cmp.Or(l.Answer, 16<<20)
	l.Rate, l.Burst = cmp.Or(l.Rate, 50_000), cmp.Or(l.Burst, 100_000)
	l.Subscriptions, l.AllSubscriptions = cmp.Or(l.Subscriptions, 256), cmp.Or(l.AllSubscriptions, 1<<16)
	l.Services, l.AllServices = cmp.Or(l.Services, 256), cmp.Or(l.AllServices, 1<<16)
	if min(l.Answer, l.Burst, l.Subscriptions, l.AllSubscriptions, l.Services, l.AllServices) < 0 {
		return c, fmt.Errorf("subnet administration: limits %+v: want none below 0 but Rate", *l)
	}
	return c, nil
}

package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"heddle/mad"
	"heddle/sm"
)

// tellUp has a manager tell of the first sweep after which no link has to come
// up anew.
func tellUp(cfg *sm.Config) chan sm.Report {
	up, swept := make(chan sm.Report, 1), cfg.Swept
	cfg.Swept = func(s sm.Subnet, r *sm.Report) {
		if swept != nil {
			swept(s, r)
		}
		if r.Again {
			return
		}
		select {
		case up <- *r:
		default: // one was told
		}
	}
	return up
}

// bringUp has a manager run until the subnet is up, and says what was done. It
// leaves the subnet alone where another manager is its master.
func (a *app) bringUp(ctx context.Context, m *sm.Manager, up <-chan sm.Report) error {
	start := time.Now()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- m.Run(ctx) }()
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for {
		select {
		case r := <-up:
			took := time.Since(start)
			cancel()
			if err := <-ended; err != nil {
				return err
			}
			_, err := fmt.Fprintf(a.out, "%d nodes, %d switches up in %v: %d SMPs asked, %d sent, %d failed; routed by %s\n",
				r.Nodes, r.Switches, took.Round(time.Millisecond), r.Asked, r.Sent, r.Failed, r.Engine)
			return err
		case err := <-ended:
			return errors.Join(err, context.Cause(ctx))
		case <-look.C:
			if why := notUp(m.Status()); why != nil {
				cancel()
				return errors.Join(why, <-ended)
			}
		}
	}
}

// notUp is why a manager does not bring its subnet up; nil where it may still do
// so.
func notUp(s sm.Status) error {
	switch {
	case s.Info.SMState == mad.SMStandby && len(s.Managers) > 0:
		other := s.Managers[0]
		for _, o := range s.Managers {
			if o.Info.SMState == mad.SMMaster {
				other = o
			}
		}
		return fmt.Errorf("another subnet manager is the master, or is to be: %v, priority %d, %v", other.Info.GUID, other.Info.Priority, other.Info.SMState)
	case s.NotKept != nil:
		return s.NotKept
	default:
		return s.Last.Err
	}
}

package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"heddle/ib"
	"heddle/mad"

	"github.com/spf13/cobra"
)

func (a *app) groupStateCommand() *cobra.Command {
	var from saFlags
	var wait time.Duration
	var asJSON bool
	cmd := &cobra.Command{
		Use: "state MGID", Short: "Tell the state of a collected group",
		Long: "Tell the state of a group that was joined with --count, and how many of its\n" +
			"members are there. Only heddle sm knows it; OpenSM does not answer. With --wait the\n" +
			"exit status is 1 where the group is not Ready in time.\n\n" + portHelp,
		Args: groupArgument,
		RunE: func(_ *cobra.Command, args []string) error {
			mgid, err := parseGroup(args[0])
			if err != nil {
				return err
			}
			return from.withSA(0, func(s saSession) error {
				if wait > 0 {
					return a.waitReady(s, mgid, wait)
				}
				r, err := s.State(s.ctx, mgid)
				if err != nil {
					return err
				}
				if asJSON {
					return writeAttribute(a.out, "MCGStateRecord", r, true)
				}
				return a.writeState(r)
			})
		},
	}
	from.flags(cmd)
	cmd.Flags().DurationVar(&wait, "wait", 0, "wait so long until the group is Ready")
	cmd.Flags().BoolVar(&asJSON, "json", false, "write one JSON object")
	cmd.MarkFlagsMutuallyExclusive("wait", "json")
	return cmd
}

func (a *app) writeState(r mad.MCGStateRecord) error {
	_, err := fmt.Fprintf(a.out, "%v %v, %d of %d joined\n", r.MGID, r.State, r.Joined, r.MemberCount)
	return err
}

// waitReady waits until a group is Ready, and tells its state. Where it is not
// there yet, others may still create it; one that ends meanwhile is an error at
// once.
func (a *app) waitReady(s saSession, mgid ib.MGID, wait time.Duration) error {
	ctx, cancel := context.WithTimeout(s.ctx, wait)
	defer cancel()
	r, err := s.AwaitReady(ctx, mgid, patientPause)
	switch {
	case errors.Is(err, context.DeadlineExceeded) && r.State == 0:
		return fmt.Errorf("group %v: not there after %v", mgid, wait)
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("group %v: %v after %v, %d of %d joined", mgid, r.State, wait, r.Joined, r.MemberCount)
	case err != nil:
		return err
	}
	return a.writeState(r)
}

// patientPause is the longest pause between the questions of a member, of which
// there may be thousands.
const patientPause = 200 * time.Millisecond

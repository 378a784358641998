package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"heddle/ib"
	"heddle/mad"
	"heddle/sa"
	"heddle/umad"

	"github.com/spf13/cobra"
)

func (a *app) groupCommand() *cobra.Command {
	cmd := a.parent("group", "Join and leave multicast groups, and look at them",
		"group asks subnet administration for multicast groups: that of heddle sm, of OpenSM\n"+
			"or of any other subnet manager.")
	cmd.AddCommand(a.groupJoinCommand(), a.groupLeaveCommand(), a.groupStateCommand(), a.groupListCommand(), a.groupStormCommand())
	return cmd
}

// saFlags say which port subnet administration is asked from, and how.
type saFlags struct {
	port  portFlags
	smKey uint64
}

func (f *saFlags) flags(cmd *cobra.Command) {
	f.port.flagsWith(cmd, time.Second)
	cmd.Flags().Uint64Var(&f.smKey, "sm-key", 0, "key to show to subnet administration, which hides members from others")
}

// saSession is a client of subnet administration.
type saSession struct {
	*sa.Client
	port *umad.Port
	info umad.Info
	ctx  context.Context
}

// withSA opens the port, and lets a function ask until it is interrupted.
func (f *saFlags) withSA(window int, use func(s saSession) error) (err error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	port, err := f.port.open()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, port.Close()) }()
	info, err := port.Info()
	if err != nil {
		return err
	}
	client := sa.New(port, sa.Options{Call: f.port.call(), SMKey: mad.SMKey(f.smKey), Window: window})
	if err := use(saSession{client, port, info, ctx}); err != nil {
		return fmt.Errorf("%s: %w", f.port.spec, err)
	}
	return nil
}

// groupArgument is the Args of a command that takes an MGID.
var groupArgument = argument("MGID")

func parseGroup(arg string) (ib.MGID, error) {
	mgid, err := ib.ParseMGID(arg)
	if err != nil {
		return mgid, &usageError{err}
	}
	return mgid, nil
}

// memberFlags are whose membership it is, and of which kind.
type memberFlags struct {
	states []string
	ports  []string
}

func (f *memberFlags) flags(cmd *cobra.Command, ofJoin string) {
	cmd.Flags().StringSliceVar(&f.states, "state", []string{"full"}, ofJoin+" full, non, send-only, send-only-full, or several")
	cmd.Flags().StringSliceVar(&f.ports, "port-gid", nil, "GID or GUID of another port, or several, instead of the own")
}

// joinStates are the names of JoinState's bits.
func joinStates() map[string]mad.JoinState {
	return map[string]mad.JoinState{
		"full": mad.JoinFull, "non": mad.JoinNon, "send-only": mad.JoinSendOnly, "send-only-full": mad.JoinSendOnlyFull,
	}
}

// records are the memberships in a group, one for each port.
func (f *memberFlags) records(mgid ib.MGID, prefix uint64) ([]mad.MCMemberRecord, error) {
	r := mad.MCMemberRecord{MGID: mgid}
	for _, name := range f.states {
		state, ok := joinStates()[strings.TrimSpace(name)]
		if !ok {
			return nil, usagef("--state: no %q; there are full, non, send-only, send-only-full", name)
		}
		r.JoinState |= state
	}
	if len(f.ports) == 0 {
		return []mad.MCMemberRecord{r}, nil
	}
	var all []mad.MCMemberRecord
	for _, text := range f.ports {
		gid, err := portGID(text, prefix)
		if err != nil {
			return nil, usagef("--port-gid: %v", err)
		}
		r.PortGID = gid
		all = append(all, r)
	}
	return all, nil
}

// portGID reads a GID, or a GUID of the subnet.
func portGID(text string, prefix uint64) (ib.GID, error) {
	text = strings.TrimSpace(text)
	gid, err := ib.ParseGID(text)
	if err == nil {
		return gid, nil
	}
	guid, failed := ib.ParseGUID(text)
	if failed != nil {
		return gid, err
	}
	return ib.NewGID(prefix, guid), nil
}

package cli

import (
	"fmt"
	"io"
	"slices"
	"time"

	"heddle/ib"
	"heddle/mad"
	"heddle/sa"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// groupParams are what a group is created with.
type groupParams struct {
	qkey   ib.QKey
	pkey   ib.PKey
	mtu    ib.MTU
	rate   ib.Rate
	sl     uint8
	tclass uint8
	flow   uint32
	hops   uint8
	create bool
}

func (p *groupParams) flags(set *pflag.FlagSet) {
	set.BoolVar(&p.create, "create", false, "create the group where it is not there; implied by all flags that follow")
	set.TextVar(&p.qkey, "qkey", ib.QKey(0), "`Q_Key` of a group to create")
	set.TextVar(&p.pkey, "pkey", ib.DefaultPKey, "`P_Key` of its partition")
	set.TextVar(&p.mtu, "mtu", ib.MTU(0), "its `MTU`, exactly; else that of the port")
	set.TextVar(&p.rate, "rate", ib.Rate(0), "its `RATE`, exactly, such as 100G; else that of the port")
	set.Uint8Var(&p.sl, "sl", 0, "its service level")
	set.Uint8Var(&p.tclass, "tclass", 0, "its traffic class")
	set.Uint32Var(&p.flow, "flow-label", 0, "its flow label")
	set.Uint8Var(&p.hops, "hop-limit", 0, "its hop limit")
}

// changed tells whether a group shall be created.
func (p *groupParams) changed(set *pflag.FlagSet) bool {
	if slices.ContainsFunc([]string{"qkey", "pkey", "mtu", "rate", "sl", "tclass", "flow-label", "hop-limit"}, set.Changed) {
		return true
	}
	return p.create
}

// fill puts the parameters into a record, and returns which count.
func (p *groupParams) fill(r *mad.MCMemberRecord) mad.ComponentMask {
	r.QKey, r.PKey, r.SL, r.TClass, r.FlowLabel = p.qkey, p.pkey, ib.SL(p.sl), p.tclass, p.flow
	mask := sa.MCMemberCreate
	if p.mtu != 0 {
		r.MTUSelector, r.MTU = mad.SelectExactly, p.mtu
		mask |= mad.MCMemberRecordMTUSelector | mad.MCMemberRecordMTU
	}
	if p.rate != 0 {
		r.RateSelector, r.Rate = mad.SelectExactly, p.rate
		mask |= mad.MCMemberRecordRateSelector | mad.MCMemberRecordRate
	}
	if p.hops != 0 {
		r.HopLimit = p.hops
		mask |= mad.MCMemberRecordHopLimit
	}
	return mask
}

// groupJoin is what heddle group join does.
type groupJoin struct {
	sa      saFlags
	member  memberFlags
	params  groupParams
	count   uint16
	wait    time.Duration
	asJSON  bool
	creates bool
}

func (a *app) groupJoinCommand() *cobra.Command {
	var f groupJoin
	cmd := &cobra.Command{
		Use: "join MGID", Short: "Join a multicast group",
		Long: "Make a port a member of a multicast group, or, with --port-gid, other ports. It\n" +
			"stays one when heddle ends. A group that may not be there yet needs --create or one\n" +
			"of the flags that say what it shall be like.\n\n" +
			"With --count the group is collected: heddle sm routes it once, when so many ports\n" +
			"have joined; each says the same number. It is created by the first.\n\n" + portHelp,
		Args: groupArgument,
		RunE: func(cmd *cobra.Command, args []string) error {
			mgid, err := parseGroup(args[0])
			if err != nil {
				return err
			}
			if f.wait > 0 && f.count == 0 {
				return usagef("--wait is for groups with --count: others tell of no state")
			}
			f.creates = f.params.changed(cmd.Flags()) || f.count > 0
			return f.sa.withSA(0, func(s saSession) error { return a.groupJoin(s, mgid, f) })
		},
	}
	f.sa.flags(cmd)
	f.member.flags(cmd, "join as")
	cmd.Flags().Uint16Var(&f.count, "count", 0, "MemberCount: how many ports the group will have")
	cmd.Flags().DurationVar(&f.wait, "wait", 0, "wait so long until the group is Ready")
	cmd.Flags().BoolVar(&f.asJSON, "json", false, "write the record that came back, a JSON object for each port")
	f.params.flags(cmd.Flags())
	return cmd
}

func (a *app) groupJoin(s saSession, mgid ib.MGID, f groupJoin) error {
	all, err := f.member.records(mgid, s.info.Prefix)
	if err != nil {
		return err
	}
	var mask mad.ComponentMask
	for i := range all {
		if f.creates {
			mask |= f.params.fill(&all[i])
		}
		if f.count > 0 {
			all[i].MemberCount = f.count
			mask |= mad.MCMemberRecordMemberCount
		}
	}
	var refused refusals
	answers := make([]*mad.MCMemberRecord, len(all))
	err = s.JoinAll(s.ctx, all, mask, func(i int, r mad.MCMemberRecord, err error) {
		if err != nil {
			refused.add(portError(all[i], err))
			return
		}
		answers[i] = &r
	})
	if err != nil {
		return err
	}
	if err := buffered(a.out, func(w io.Writer) error { return writeMembers(w, answers, f.asJSON) }); err != nil {
		return err
	}
	if err := refused.err("join", len(all)); err != nil || f.wait == 0 {
		return err
	}
	return a.waitReady(s, mgid, f.wait)
}

// writeMembers writes what joins gave back, a line each.
func writeMembers(w io.Writer, answers []*mad.MCMemberRecord, asJSON bool) error {
	for _, r := range answers {
		if r == nil {
			continue
		}
		if asJSON {
			if err := writeAttribute(w, "MCMemberRecord", *r, true); err != nil {
				return err
			}
			continue
		}
		_, err := fmt.Fprintf(w, "%v MLID %v: %v joined as %v; P_Key %v, MTU %v, rate %v\n", r.MGID, r.MLID, r.PortGID, r.JoinState, r.PKey, r.MTU, r.Rate)
		if err != nil {
			return err
		}
	}
	return nil
}

// portError is the error of a membership with its port, where that is not the
// own one.
func portError(r mad.MCMemberRecord, err error) error {
	if r.PortGID == (ib.GID{}) {
		return err
	}
	return fmt.Errorf("%v: %w", r.PortGID, err)
}

// refusals counts requests that failed.
type refusals struct {
	first error
	n     int
}

func (r *refusals) add(err error) {
	if r.n++; r.first == nil {
		r.first = err
	}
}

// err is nil where none failed.
func (r *refusals) err(what string, of int) error {
	switch {
	case r.n == 0:
		return nil
	case of == 1:
		return fmt.Errorf("%s: %w", what, r.first)
	default:
		return fmt.Errorf("%s: %d of %d failed, the first: %w", what, r.n, of, r.first)
	}
}

func (a *app) groupLeaveCommand() *cobra.Command {
	var from saFlags
	var member memberFlags
	cmd := &cobra.Command{
		Use: "leave MGID", Short: "Leave a multicast group",
		Long: "Take a port out of a multicast group, or, with --port-gid, other ports that were\n" +
			"joined in the same way. Of a port that joined in several ways, only those of\n" +
			"--state end.\n\n" + portHelp,
		Args: groupArgument,
		RunE: func(_ *cobra.Command, args []string) error {
			mgid, err := parseGroup(args[0])
			if err != nil {
				return err
			}
			return from.withSA(0, func(s saSession) error {
				all, err := member.records(mgid, s.info.Prefix)
				if err != nil {
					return err
				}
				var refused refusals
				err = s.LeaveAll(s.ctx, all, func(i int, err error) {
					if err != nil {
						refused.add(portError(all[i], err))
					}
				})
				if err != nil {
					return err
				}
				return refused.err("leave", len(all))
			})
		},
	}
	from.flags(cmd)
	member.flags(cmd, "be no member any more as")
	return cmd
}

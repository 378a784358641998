package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"

	"heddle/cli/text"
	"heddle/ib"
	"heddle/mad"
	"heddle/sa"

	"github.com/spf13/cobra"
)

func (a *app) groupListCommand() *cobra.Command {
	var from saFlags
	var asJSON bool
	cmd := &cobra.Command{
		Use: "list [MGID]", Short: "List multicast groups and their members",
		Long: "List all multicast groups, or one. Subnet administration tells the members only to\n" +
			"those who show its key with --sm-key, which is 1 where nobody has changed it.\n\n" + portHelp,
		Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			var query mad.MCMemberRecord
			var mask mad.ComponentMask
			if len(args) == 1 {
				mgid, err := parseGroup(args[0])
				if err != nil {
					return err
				}
				query.MGID, mask = mgid, mad.MCMemberRecordMGID
			}
			return from.withSA(0, func(s saSession) error {
				all, err := sa.Query(s.ctx, s.Client, query, mask)
				if err != nil && !errors.Is(err, sa.ErrCut) {
					return err
				}
				return errors.Join(a.writeGroups(all, asJSON), err)
			})
		},
	}
	from.flags(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "write each record as a JSON object")
	return cmd
}

// writeGroups writes the records of groups, by MGID and port.
func (a *app) writeGroups(all []mad.MCMemberRecord, asJSON bool) error {
	slices.SortFunc(all, func(x, y mad.MCMemberRecord) int {
		return cmp.Or(slices.Compare(x.MGID[:], y.MGID[:]), slices.Compare(x.PortGID[:], y.PortGID[:]))
	})
	return buffered(a.out, func(w io.Writer) error {
		for i := range all {
			if asJSON {
				if err := writeAttribute(w, "MCMemberRecord", all[i], true); err != nil {
					return err
				}
			} else if err := writeMember(w, all, i); err != nil {
				return err
			}
		}
		return nil
	})
}

// writeMember writes a record, and before the first of a group what it is like.
func writeMember(w io.Writer, all []mad.MCMemberRecord, i int) error {
	r := &all[i]
	if i == 0 || all[i-1].MGID != r.MGID {
		if _, err := fmt.Fprintf(w, "%v MLID %v, P_Key %v, Q_Key %v, MTU %v, rate %v, SL %v, %s\n",
			r.MGID, r.MLID, r.PKey, r.QKey, r.MTU, r.Rate, r.SL, visible(all[i:])); err != nil {
			return err
		}
	}
	if r.PortGID == (ib.GID{}) {
		return nil
	}
	proxy := ""
	if r.ProxyJoin {
		proxy = ", by another port"
	}
	_, err := fmt.Fprintf(w, "  %v %v%s\n", r.PortGID, r.JoinState, proxy)
	return err
}

// visible counts the members of the first group that are told.
func visible(all []mad.MCMemberRecord) string {
	n := 0
	for i := range all {
		if all[i].MGID != all[0].MGID {
			break
		}
		if all[i].PortGID != (ib.GID{}) {
			n++
		}
	}
	if n == 0 {
		return "members not told"
	}
	return text.Count(n, "member")
}

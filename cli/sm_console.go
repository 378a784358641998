package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"heddle/cli/text"
	"heddle/ib"
	"heddle/internal/console"
	"heddle/sm"
	"heddle/sm/group"
)

// smConsole answers the commands to a subnet manager that runs.
type smConsole struct {
	ctx     context.Context // of the manager's Run
	manager *sm.Manager
	dumps   func(context.Context, *sm.Manager) (string, error)
}

// smOrder is a command of the console.
type smOrder struct {
	name, args, help string
	run              func(c smConsole, args []string) (string, error)
}

func (o smOrder) usage() string { return strings.TrimSpace(o.name + " " + o.args) }

// smOrders are all of them.
func smOrders() []smOrder {
	return []smOrder{
		{"status", "[json]", "how the manager and its subnet are", smConsole.status},
		{"resweep", "", "look at the whole subnet again; does not wait", smConsole.resweep},
		{"reroute", "", "lay the trees of all groups anew, and write them", smConsole.reroute},
		{"groups", "[MGID]", "all groups, or one and its members", smConsole.groups},
		{"dump", "", "write OpenSM's dump files into --dump-dir", smConsole.dump},
		{"help", "", "this", smConsole.help},
	}
}

// answer runs a line.
func (c smConsole) answer(line string) (string, error) {
	words, err := console.Split(line)
	if err != nil || len(words) == 0 {
		return "", err
	}
	orders := smOrders()
	names := make([]string, len(orders))
	for i := range orders {
		names[i] = orders[i].name
	}
	i, args, err := console.Find(names, words)
	if err != nil {
		return "", err
	}
	most := len(strings.Fields(orders[i].args))
	if len(args) > most {
		return "", fmt.Errorf("%s: wrong arguments; write: %s", names[i], orders[i].usage())
	}
	answer, err := orders[i].run(c, args)
	if err != nil {
		return "", fmt.Errorf("%s: %w", names[i], err)
	}
	return answer, nil
}

func (c smConsole) help([]string) (string, error) {
	return aligned(func(w *tabwriter.Writer) {
		for _, o := range smOrders() {
			fmt.Fprintf(w, "%s\t%s\n", o.usage(), o.help)
		}
	}), nil
}

func (c smConsole) resweep([]string) (string, error) {
	c.manager.Resweep("console")
	return "asked for a sweep\n", nil
}

func (c smConsole) dump([]string) (string, error) {
	ctx, cancel := context.WithTimeout(c.ctx, reroutePatience)
	defer cancel()
	return c.dumps(ctx, c.manager)
}

// reroutePatience is less than that of who asks.
const reroutePatience = ctlPatience - time.Second

func (c smConsole) reroute([]string) (string, error) {
	ctx, cancel := context.WithTimeout(c.ctx, reroutePatience)
	defer cancel()
	r, err := c.manager.Reroute(ctx)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("EFI at most %d, before %d; %s SMPs sent, %d failed, in %v\n",
		r.After, r.Before, text.Thousands(r.Sent), r.Failed, r.Took.Round(time.Millisecond)), nil
}

func (c smConsole) status(args []string) (string, error) {
	s := c.manager.Status()
	if len(args) > 0 {
		if args[0] != "json" {
			return "", fmt.Errorf("%q: want json or nothing", args[0])
		}
		b, err := json.Marshal(smObject(s))
		return string(b) + "\n", err
	}
	return smText(s), nil
}

// smText tells of a status in lines.
func smText(s sm.Status) string {
	count := func(n uint64) string { return text.Thousands(int(n)) }
	return aligned(func(w *tabwriter.Writer) {
		fmt.Fprintf(w, "state\t%v, priority %d, GUID %v, LID %v\n", s.Info.SMState, s.Info.Priority, s.Info.GUID, s.LID)
		fmt.Fprintf(w, "heddle\t%s, up %v\n", version(), ago(time.Now(), s.Started))
		fmt.Fprintf(w, "subnet\t%s, %s, %s\n", text.Count(s.Nodes, "node"), text.Thousands(s.Switches)+" switches", text.Count(s.Links, "link"))
		fmt.Fprintf(w, "sweeps\t%s, %s failed\n", count(s.Sweeps), count(s.Failed))
		fmt.Fprintf(w, "last\t%s\n", lastSweep(s.Last))
		fmt.Fprintf(w, "SMPs\t%s asked, %s sent, %s failed\n", count(s.Asked), count(s.Sent), count(s.Refused))
		fmt.Fprintf(w, "groups\t%s plain, %s collected: %s; %s\n", text.Thousands(s.ByState[0]), text.Thousands(s.Groups.Collected), collected(s), text.Count(s.Groups.Members, "member"))
		fmt.Fprintf(w, "MLIDs\t%d used, %d shared by %s, %d retiring, %s\n", s.Groups.MLIDs, s.Groups.Shared, text.Count(s.Sharing, "group"), s.Groups.Retiring, unsettled(s.Unsettled))
		fmt.Fprintf(w, "trees\tEFI at most %d, %s in all; %s batches\n", s.MaxEFI, text.Count(s.TreeLinks, "link"), count(s.Batches))
		fmt.Fprintf(w, "stages\t%v; read ahead %v\n", s.Stages, s.Stages.Ahead.Round(time.Millisecond))
		fmt.Fprintf(w, "last batch\t%v\n", s.Batch)
		fmt.Fprintf(w, "requests\t%s answered, %s refused (%s busy), %s not answered\n", count(s.SA.Answered), count(s.SA.Refused), count(s.SA.Busy), count(s.SA.Silent))
		troubleText(w, s, time.Now())
	})
}

func lastSweep(s sm.SweepStatus) string {
	switch {
	case s.At.IsZero():
		return "none yet"
	case s.Err != nil:
		return fmt.Sprintf("%s, for %s: failed: %v", s.At.Format(time.RFC3339), s.Why, s.Err)
	default:
		return fmt.Sprintf("%s, for %s: took %v, %s asked, %s sent, %s failed; routed by %s", s.At.Format(time.RFC3339), s.Why,
			s.Took.Round(time.Millisecond), text.Thousands(s.Asked), text.Thousands(s.Sent), text.Thousands(s.Report.Failed), s.Engine)
	}
}

// groupStates are those of collected groups.
func groupStates() []group.State {
	return []group.State{group.ReceivingJoinReq, group.ComputingRoutes, group.Ready, group.ReceivingLeaveReq, group.Destroying}
}

func collected(s sm.Status) string {
	var parts []string
	for _, state := range groupStates() {
		parts = append(parts, fmt.Sprintf("%d %v", s.ByState[state], state))
	}
	return strings.Join(parts, ", ")
}

func unsettled(mlids []ib.MLID) string {
	if len(mlids) == 0 {
		return "all written"
	}
	return fmt.Sprintf("%d not written, such as %v", len(mlids), mlids[0])
}

// smObject is a status for programs.
func smObject(s sm.Status) map[string]any {
	states := map[string]int{}
	for state, n := range s.ByState {
		states[state.String()] = n
	}
	o := map[string]any{
		"state": s.Info.SMState.String(), "priority": s.Info.Priority, "guid": s.Info.GUID.String(), "lid": s.LID,
		"nodes": s.Nodes, "switches": s.Switches, "links": s.Links,
		"sweeps": s.Sweeps, "sweepsFailed": s.Failed, "batches": s.Batches,
		"smpsAsked": s.Asked, "smpsSent": s.Sent, "smpsFailed": s.Refused,
		"groups": s.Groups.Groups, "members": s.Groups.Members, "groupStates": states,
		"mlids": s.Groups.MLIDs, "mlidsShared": s.Groups.Shared, "groupsSharing": s.Sharing, "mlidsRetiring": s.Groups.Retiring, "mlidsUnsettled": len(s.Unsettled),
		"maxEFI": s.MaxEFI, "treeLinks": s.TreeLinks,
		"stages": stagesObject(s.Stages), "lastBatch": stagesObject(s.Batch),
		"saAnswered": s.SA.Answered, "saRefused": s.SA.Refused, "saBusy": s.SA.Busy, "saSilent": s.SA.Silent,
	}
	if !s.Last.At.IsZero() {
		o["lastSweepAt"], o["lastSweepWhy"], o["lastSweepMs"] = s.Last.At.Format(time.RFC3339Nano), s.Last.Why, milliseconds(s.Last.Took)
		o["engine"] = s.Last.Engine
	}
	troubleObject(o, s)
	if s.Last.Err != nil {
		o["lastSweepError"] = s.Last.Err.Error()
	}
	return o
}

func stagesObject(s sm.Stages) map[string]any {
	return map[string]any{
		"routingMs": milliseconds(s.Routing), "planningMs": milliseconds(s.Planning), "readingMs": milliseconds(s.Reading),
		"aheadMs": milliseconds(s.Ahead), "writingMs": milliseconds(s.Writing), "read": s.Read, "written": s.Written,
	}
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func (c smConsole) groups(args []string) (answer string, err error) {
	var all []group.Group
	var members []group.Member
	if len(args) == 0 {
		c.manager.Groups(func(t *group.Table) { all = slices.Collect(t.Groups()) })
	} else {
		mgid, err := ib.ParseMGID(args[0])
		if err != nil {
			return "", err
		}
		c.manager.Groups(func(t *group.Table) {
			if g, ok := t.Group(mgid); ok {
				all, members = append(all, g), slices.Collect(t.Members(mgid))
			}
		})
		if all == nil {
			return "", errors.New("no such group")
		}
	}
	slices.SortFunc(all, func(a, b group.Group) int { return slices.Compare(a.MGID[:], b.MGID[:]) })
	return groupTable(all) + memberTable(members), nil
}

func groupTable(all []group.Group) string {
	return aligned(func(w *tabwriter.Writer) {
		fmt.Fprintln(w, "MGID\tMLID\tP_Key\tMTU\trate\tmembers\tstate")
		for _, g := range all {
			members := text.Thousands(g.Members)
			if g.MemberCount > 0 {
				members += " of " + text.Thousands(int(g.MemberCount))
			}
			fmt.Fprintf(w, "%v\t%v\t%v\t%v\t%v\t%s\t%v\n", g.MGID, g.MLID, g.PKey, g.MTU, g.Rate, members, g.State)
		}
	})
}

func memberTable(members []group.Member) string {
	if len(members) == 0 {
		return ""
	}
	return aligned(func(w *tabwriter.Writer) {
		fmt.Fprintln(w, "member\tjoined as\tby\tsince")
		for _, m := range members {
			by := "itself"
			if m.Proxy {
				by = m.Requester.String()
			}
			fmt.Fprintf(w, "%v\t%v\t%s\t%s\n", m.Port, m.JoinState, by, m.Since.Format(time.RFC3339))
		}
	})
}

// aligned aligns columns that tabs separate.
func aligned(fill func(w *tabwriter.Writer)) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fill(w)
	w.Flush() //nolint:errcheck // a strings.Builder takes everything
	return b.String()
}

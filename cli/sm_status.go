package cli

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"heddle/cli/text"
	"heddle/mad"
	"heddle/sm"
	"heddle/sm/replica"

	"github.com/prometheus/client_golang/prometheus"
)

// examples is how many things of a kind a status names.
const examples = 5

// troubleText tells of other managers, of who keeps the state, and of what is
// wrong: lines only where there is something to tell.
func troubleText(w *tabwriter.Writer, s sm.Status, now time.Time) {
	some(w, "manager", s.Managers, func(o sm.OtherManager) string { return managerText(o, now) })
	if s.Replica != nil {
		replicaText(w, *s.Replica, now)
	}
	if s.NotKept != nil {
		fmt.Fprintf(w, "state file\tNOT KEPT, joins are answered busy: %v\n", s.NotKept)
	}
	some(w, "warning", s.Last.Warnings, func(v sm.Warning) string { return string(v.Name) + ": " + v.Text })
	some(w, "unhealthy", unhealthy(s), trapsText)
	some(w, "silent", s.Silent, func(n sm.SilentNode) string {
		return fmt.Sprintf("%s does not answer, %s in a row", n.Node, text.Count(n.Sweeps, "sweep"))
	})
	some(w, "cut off", cutOff(s), func(line string) string { return line })
}

// some writes a line for each of the first of a list, and how many more there
// are.
func some[T any](w *tabwriter.Writer, name string, list []T, line func(T) string) {
	for i := range list {
		if i == examples {
			fmt.Fprintf(w, "%s\tand %d more\n", name, len(list)-i)
			return
		}
		fmt.Fprintf(w, "%s\t%s\n", name, line(list[i]))
	}
}

func managerText(o sm.OtherManager, now time.Time) string {
	s := fmt.Sprintf("%v, LID %v, priority %d: %v for %v, heard of %v ago", o.Info.GUID, o.LID, o.Info.Priority, o.Info.SMState,
		ago(now, o.Since), ago(now, o.Heard))
	if !o.Trusted {
		s += "; not trusted: it has another SM_Key"
	}
	return s
}

func ago(now, then time.Time) time.Duration { return max(0, now.Sub(then)).Round(time.Second) }

func replicaText(w *tabwriter.Writer, r replica.Status, now time.Time) {
	note := ""
	if r.Degraded {
		note = "; followers are late, and not waited for"
	}
	fmt.Fprintf(w, "replica\t%d, %v in epoch %d, %s kept, %s waiting%s\n", r.ID, r.Role, r.Epoch,
		text.Thousands(int(r.Kept.Index)), text.Thousands(r.Waiting), note)
	some(w, "peer", replicaPeers(r), func(p replica.PeerStatus) string {
		what := "connected"
		switch {
		case p.Fed:
			what = fmt.Sprintf("follows, %s behind, %v", text.Thousands(int(p.Lag)), p.LagTime.Round(time.Millisecond))
		case p.Following:
			what = "is followed"
		}
		return fmt.Sprintf("%d, %v in epoch %d: %s; heard of %v ago", p.ID, p.Role, p.Epoch, what, ago(now, p.Heard))
	})
}

// replicaPeers are the peers, each once: by the connection on which something
// is sent, if there is one.
func replicaPeers(r replica.Status) (list []replica.PeerStatus) {
	best := map[uint16]replica.PeerStatus{}
	for _, p := range r.Peers {
		if old, ok := best[p.ID]; !ok || p.Fed || p.Following && !old.Fed {
			best[p.ID] = p
		}
	}
	return slices.SortedFunc(maps.Values(best), func(a, b replica.PeerStatus) int { return cmp.Compare(a.ID, b.ID) })
}

func unhealthy(s sm.Status) (list []sm.PortTraps) {
	for _, p := range s.Ports {
		if p.Unhealthy || p.Disabled {
			list = append(list, p)
		}
	}
	return list
}

func trapsText(p sm.PortTraps) string {
	var counts []string
	for _, n := range slices.Sorted(maps.Keys(p.Counts)) {
		counts = append(counts, fmt.Sprintf("%s of trap %v", text.Thousands(int(p.Counts[n])), n))
	}
	s := fmt.Sprintf("%s, LID %v, port %d: %s", p.Node, p.LID, p.Port, strings.Join(counts, ", "))
	if p.Disabled {
		s += "; its link was disabled"
	}
	return s
}

// cutOff is a line for each member that is not reached.
func cutOff(s sm.Status) (list []string) {
	for _, c := range s.CutOff {
		list = append(list, c.String())
	}
	return list
}

// troubleObject is troubleText for programs.
func troubleObject(o map[string]any, s sm.Status) {
	o["version"], o["startedAt"] = version(), s.Started.Format(time.RFC3339Nano)
	o["managers"] = objects(s.Managers, func(m sm.OtherManager) map[string]any {
		return map[string]any{
			"guid": m.Info.GUID.String(), "lid": m.LID, "priority": m.Info.Priority, "state": m.Info.SMState.String(),
			"since": m.Since.Format(time.RFC3339Nano), "heard": m.Heard.Format(time.RFC3339Nano), "trusted": m.Trusted,
		}
	})
	o["warnings"] = objects(s.Last.Warnings, func(w sm.Warning) map[string]any {
		return map[string]any{"name": string(w.Name), "text": w.Text}
	})
	o["unhealthyPorts"] = objects(unhealthy(s), func(p sm.PortTraps) map[string]any {
		return map[string]any{
			"guid": p.GUID.String(), "node": p.Node, "lid": p.LID, "port": p.Port, "repeats": p.Repeats,
			"last": p.Last.Format(time.RFC3339Nano), "unhealthy": p.Unhealthy, "disabled": p.Disabled,
		}
	})
	o["silentNodes"] = objects(s.Silent, func(n sm.SilentNode) map[string]any {
		return map[string]any{"guid": n.GUID.String(), "node": n.Node, "sweeps": n.Sweeps}
	})
	o["cutOff"] = cutOff(s)
	if s.NotKept != nil {
		o["notKept"] = s.NotKept.Error()
	}
	if r := s.Replica; r != nil {
		o["replica"] = map[string]any{
			"id": r.ID, "role": r.Role.String(), "epoch": r.Epoch, "kept": r.Kept.Index, "waiting": r.Waiting, "degraded": r.Degraded,
			"peers": objects(replicaPeers(*r), func(p replica.PeerStatus) map[string]any {
				return map[string]any{
					"id": p.ID, "role": p.Role.String(), "epoch": p.Epoch, "lag": p.Lag, "lagMs": milliseconds(p.LagTime),
					"fed": p.Fed, "following": p.Following, "heard": p.Heard.Format(time.RFC3339Nano),
				}
			}),
		}
	}
}

func objects[T any](list []T, object func(T) map[string]any) []map[string]any {
	all := make([]map[string]any, 0, len(list))
	for i := range list {
		all = append(all, object(list[i]))
	}
	return all
}

// troubleMetrics are those of other managers and of what is wrong.
func troubleMetrics(s sm.Status) []metric {
	leader, kept := 0, 1
	if s.Replica != nil && s.Replica.Role == replica.Leader {
		leader = 1
	}
	if s.NotKept != nil {
		kept = 0
	}
	return []metric{
		labelled("info", "1, with the version", "version", map[string]float64{version(): 1}),
		gauge("start_timestamp_seconds", "when the subnet manager started", seconds(s.Started)),
		labelled("other_managers", "other subnet managers of the subnet by their state", "state", otherManagers(s)),
		labelled("warnings", "warnings of the last sweep by their name", "warning", warningCounts(s)),
		gauge("unhealthy_ports", "ports with too many traps of errors", len(unhealthy(s))),
		gauge("silent_nodes", "nodes that do not answer though their link is up", len(s.Silent)),
		gauge("cut_off_members", "members of groups that are not reached", len(s.CutOff)),
		gauge("state_kept", "1 where joins and the like are kept, or need not be, 0 where they are answered busy", kept),
		gauge("replica_leader", "1 where this manager writes the state that several share", leader),
		labelled("replica_lag_batches", "batches that another manager does not have yet", "peer", replicaLags(s)),
		{"traps_total", "traps by their number, 0 for those of vendors", "trap", prometheus.CounterValue, trapCounts(s)},
	}
}

func otherManagers(s sm.Status) map[string]float64 {
	values := map[string]float64{}
	for _, state := range managerStateList() {
		values[state.String()] = 0
	}
	for _, o := range s.Managers {
		values[o.Info.SMState.String()]++
	}
	return values
}

func managerStateList() []mad.SMState {
	return []mad.SMState{mad.SMNotActive, mad.SMDiscovering, mad.SMStandby, mad.SMMaster}
}

func warningCounts(s sm.Status) map[string]float64 {
	values := map[string]float64{}
	for _, name := range sm.WarningNames() {
		values[string(name)] = 0
	}
	for _, w := range s.Last.Warnings {
		values[string(w.Name)]++
	}
	return values
}

func replicaLags(s sm.Status) map[string]float64 {
	values := map[string]float64{}
	if s.Replica == nil {
		return values
	}
	for _, p := range replicaPeers(*s.Replica) {
		if p.Fed {
			values[fmt.Sprint(p.ID)] = float64(p.Lag)
		}
	}
	return values
}

func trapCounts(s sm.Status) map[string]float64 {
	values := map[string]float64{}
	for n, count := range s.Traps {
		values[fmt.Sprint(uint16(n))] = float64(count)
	}
	return values
}

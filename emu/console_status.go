package emu

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"heddle/fabric"
	"heddle/ib"
	"heddle/internal/console"
	"heddle/mad"
)

// listed is how many of anything an answer lists; more are counted.
const listed = 100

func consoleStatus(s *Subnet, args []string) (string, error) {
	if len(args) > 0 {
		return "", errUsage
	}
	st := s.Status()
	n := &st.Stats
	head := table(func(w *tabwriter.Writer) {
		fmt.Fprintf(w, "time\t%v\n", st.Time.Round(time.Millisecond))
		fmt.Fprintf(w, "nodes\t%d switches, %d adapters, %d routers; %d dead\n", st.Switches, st.Adapters, st.Routers, st.Dead)
		fmt.Fprintf(w, "links\t%d up, %d down\n", st.LinksUp, st.LinksDown)
		fmt.Fprintf(w, "ports\t%s\n", portStates(st.Ports))
		fmt.Fprintf(w, "SM LID\t%s\n", smLIDs(st.SMLIDs))
		fmt.Fprintf(w, "packets\t%d sent, %d delivered, %d lost (%d for nobody, %d at full queues)\n", n.Sent, n.Delivered, n.Lost, n.Unclaimed, n.QueueFull)
		if d := &st.Data; d.Sent > 0 {
			fmt.Fprintf(w, "data\t%d sent, %d copied, %d delivered, %d lost%s\n", d.Sent, d.Copied, d.Delivered, d.AllLost(), d.why())
		}
		fmt.Fprintf(w, "SMPs\t%d answered\n", n.SMPs)
		fmt.Fprintf(w, "traps\t%d sent, %d outstanding\n", n.Traps, st.Traps)
		fmt.Fprintf(w, "clients\t%d\n", len(st.Clients))
	})
	var clients []string
	for _, c := range st.Clients {
		clients = append(clients, s.clientLine(c))
	}
	return head + list(clients) + fmt.Sprintf("faults   %d\n", len(st.Faults)) + list(st.Faults), nil
}

// list indents lines, and counts those after the first.
func list(lines []string) string {
	var b strings.Builder
	for _, line := range lines[:min(len(lines), listed)] {
		b.WriteString("  " + line + "\n")
	}
	if more := len(lines) - listed; more > 0 {
		fmt.Fprintf(&b, "  and %d more\n", more)
	}
	return b.String()
}

func portStates(ports map[mad.PortState]int) string {
	var parts []string
	for state := mad.PortDown; state <= mad.PortActive; state++ {
		parts = append(parts, fmt.Sprintf("%d %v", ports[state], state))
	}
	return strings.Join(parts, ", ")
}

// smLIDs tells which LIDs ports take for that of their subnet manager, the
// most frequent first.
func smLIDs(ports map[ib.LID]int) string {
	lids := slices.SortedFunc(maps.Keys(ports), func(a, b ib.LID) int {
		return cmp.Or(cmp.Compare(ports[b], ports[a]), cmp.Compare(a, b))
	})
	var parts []string
	for _, lid := range lids[:min(len(lids), listed)] {
		parts = append(parts, fmt.Sprintf("%s at %s", lidText(lid), count(ports[lid], "port")))
	}
	return strings.Join(parts, ", ")
}

// lidText is a LID, none for 0.
func lidText(lid ib.LID) string {
	if lid == 0 {
		return "none"
	}
	return lid.String()
}

func (s *Subnet) clientLine(c ClientStatus) string {
	line := fmt.Sprintf("%d at %s, %s", c.ID, s.endName(c.End), c.Name)
	if c.IsSM {
		line += ", IsSM"
	}
	return line
}

// linkLine tells of a link in a line.
func (s *Subnet) linkLine(id fabric.LinkID) string {
	l := s.fabric.Link(id)
	parts := []string{s.linkName(id) + ": down"}
	if s.linkIsUp(id) {
		rate, _ := s.common(s.portOf(l.A), s.portOf(l.B))
		parts[0] = s.linkName(id) + ": up, " + rate.String()
	}
	for _, e := range []fabric.End{l.A, l.B} {
		if !s.nodes[e.Node].up {
			parts = append(parts, s.nodeName(e.Node)+" is dead")
		}
	}
	return strings.Join(append(parts, s.linkFaults(id)...), "; ") + "\n"
}

func consoleLink(s *Subnet, args []string) (string, error) {
	id, err := s.onlyLink(args)
	if err != nil {
		return "", err
	}
	l := s.fabric.Link(id)
	return s.linkLine(id) + s.portTable([]fabric.End{l.A, l.B}), nil
}

// nodeLine tells of a node in a line.
func (s *Subnet) nodeLine(id fabric.NodeID) string {
	n := s.fabric.Node(id)
	parts := []string{fmt.Sprintf("%s: %v of %s, ID %s, GUID %v", s.nodeName(id), n.Kind, count(int(n.NumPorts), "port"), console.Quote(n.ID), n.GUID)}
	return strings.Join(append(parts, s.nodeFaults(id)...), "; ") + "\n"
}

func consoleNode(s *Subnet, args []string) (string, error) {
	id, err := s.oneNode(args)
	if err != nil {
		return "", err
	}
	answer := s.nodeLine(id)
	if w := s.nodes[id].sw; w != nil {
		i := &w.info
		answer += fmt.Sprintf("unicast up to LID %d, %d LIDs at most; multicast up to %#x, %d MLIDs at most\n",
			i.LinearFDBTop, i.LinearFDBCap, i.MulticastFDBTop, i.MulticastFDBCap)
	}
	var ends []fabric.End
	for p := range s.nodes[id].ports {
		if e := (fabric.End{Node: id, Port: uint16(p)}); s.has(e) {
			ends = append(ends, e)
		}
	}
	return answer + s.portTable(ends), nil
}

// portTable tells of ports, one a line.
func (s *Subnet) portTable(ends []fabric.End) string {
	return table(func(w *tabwriter.Writer) {
		fmt.Fprintln(w, "port\tstate\tphysical\tLID\tSM LID\tcable to")
		for _, e := range ends {
			x := s.portOf(e)
			lid, smLID, far := "-", "-", "-"
			if s.addressed(e) {
				lid, smLID = lidText(x.info.LID), lidText(x.info.MasterSMLID)
			}
			if x.link != fabric.NoLink {
				far = s.endName(s.fabric.Link(x.link).Other(e))
			}
			fmt.Fprintf(w, "%s\t%v\t%v\t%s\t%s\t%s\n", s.endName(e), x.info.PortState, x.info.PortPhysicalState, lid, smLID, far)
		}
	})
}

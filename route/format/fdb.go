package format

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"heddle/fabric"
	"heddle/ib"
	"heddle/route"
)

const fdbHeading = "dump_ucast_routes: Switch "

// fdb finds the switch of a heading of opensm.fdbs, which has its GUID only.
func (f *finder) fdb(line string) (int32, error) {
	guid, err := ib.ParseGUID(strings.TrimSpace(strings.TrimPrefix(line, fdbHeading)))
	if err != nil {
		return -1, err
	}
	return f.find(guid, "")
}

// fdbPort reads the port of a row of opensm.fdbs, such as ": 005  : 05   : yes".
func fdbPort(rest string) (int, error) {
	_, rest, ok := strings.Cut(rest, ":")
	if !ok {
		return 0, fmt.Errorf("no port in the row")
	}
	word, _, _ := strings.Cut(rest, ":")
	word = strings.TrimSpace(word)
	if strings.HasPrefix(word, "UNREACHABLE") {
		return route.NoPort, nil
	}
	return parsePort(word)
}

// WriteFDBs writes the tables of all switches as OpenSM's file opensm.fdbs has
// them: for each LID the port, the hops to its owner by that port, and whether
// no path has fewer. h is the hop table of the tables' graph, without an order.
func WriteFDBs(w io.Writer, t *route.LFTs, h *route.Hops) error {
	out := bufio.NewWriterSize(w, 1<<16)
	var line []byte
	for v := range t.Tables {
		if !t.Graph.Usable(int32(v)) {
			continue
		}
		guid := t.Graph.Fabric().Node(t.Graph.Node(int32(v))).GUID
		line = fmt.Appendf(line[:0], "%s0x%016x\nLID    : Port : Hops : Optimal\n", fdbHeading, uint64(guid))
		for l := ib.MinUnicastLID; l <= t.LIDs.Top(); l++ {
			line = appendFDBRow(line, t, h, int32(v), l)
			if _, err := out.Write(line); err != nil {
				return err
			}
			line = line[:0]
		}
		if _, err := out.Write(line); err != nil {
			return err
		}
	}
	return out.Flush()
}

func appendFDBRow(b []byte, t *route.LFTs, h *route.Hops, v int32, l ib.LID) []byte {
	b = fmt.Appendf(b, "0x%04X : ", uint16(l))
	port := t.Tables[v].Lookup(l)
	hops, least := fdbHops(t, h, v, l)
	switch {
	case port == route.NoPort || hops < 0:
		return append(b, "UNREACHABLE\n"...)
	case hops > least:
		return fmt.Appendf(b, "%03d  : %02d   : No, %d hops are possible\n", port, hops, least)
	default:
		return fmt.Appendf(b, "%03d  : %02d   : yes\n", port, hops)
	}
}

// fdbHops gives the hops to the owner of a LID, by the table's port and by the
// best; -1 where there is no way.
func fdbHops(t *route.LFTs, h *route.Hops, v int32, l ib.LID) (hops, least int) {
	owner, ok := t.LIDs.Owner(l)
	if !ok {
		return -1, -1
	}
	leaf, ok := t.Graph.Fabric().Leaf(owner)
	if !ok || t.Graph.Vertex(leaf.Node) < 0 {
		return -1, -1
	}
	to, last := t.Graph.Vertex(leaf.Node), 0
	if leaf != owner {
		last = 1
	}
	if to == v {
		return last, last
	}
	peer, ok := t.Exit(v, l)
	if !ok || t.Graph.Fabric().Node(peer.Node).Kind != fabric.Switch {
		return -1, -1
	}
	by, best := h.To(to)[t.Graph.Vertex(peer.Node)], h.To(to)[v]
	if by == route.Far || best == route.Far {
		return -1, -1
	}
	return int(by) + 1 + last, int(best) + last
}

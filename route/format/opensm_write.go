package format

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"heddle/ib"
	"heddle/route"
)

// WriteOpenSMLFTs writes the tables of all switches as OpenSM's file
// opensm-lfts.dump has them, which ReadLFTs reads.
func WriteOpenSMLFTs(w io.Writer, t *route.LFTs) error {
	out := bufio.NewWriterSize(w, 1<<16)
	owners := dumpedOwners(t)
	base := switchLIDs(t)
	var line []byte
	for v, table := range t.Tables {
		if !t.Graph.Usable(int32(v)) {
			continue
		}
		node := t.Graph.Fabric().Node(t.Graph.Node(int32(v)))
		line = fmt.Appendf(line[:0], "Unicast lids [0-%d] of switch Lid %d guid 0x%016x ('%s'):\n",
			t.LIDs.Top(), base[v], uint64(node.GUID), oneLine(node.Name))
		for l, port := range table {
			if port == route.NoPort {
				continue
			}
			line = appendHex4(append(line, "0x"...), uint16(l))
			line = append(line, ' ', '0'+port/100, '0'+port/10%10, '0'+port%10)
			line = append(line, owners[l]...)
			if _, err := out.Write(line); err != nil {
				return err
			}
			line = line[:0]
		}
		// OpenSM counts the LIDs that nobody has, too.
		if _, err := out.Write(fmt.Appendf(line, "%d lids dumped\n", t.LIDs.Top())); err != nil {
			return err
		}
	}
	return out.Flush()
}

// dumpedOwners gives for each LID the end of its rows.
func dumpedOwners(t *route.LFTs) []string {
	texts := make([]string, int(t.LIDs.Top())+1)
	for l := range texts {
		texts[l] = "\n"
		if owner, ok := t.LIDs.Owner(ib.LID(l)); ok {
			text := strings.TrimSuffix(strings.TrimPrefix(ownerText(t.Graph.Fabric(), owner), ": ("), ")")
			texts[l] = " # " + oneLine(text) + "\n"
		}
	}
	return texts
}

// oneLine keeps a description on its line.
func oneLine(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7F {
			return '?'
		}
		return r
	}, text)
}

// WriteMCFDBs writes multicast tables as OpenSM's file opensm.mcfdbs has them:
// the ports of each MLID, of the switches that forward any.
func WriteMCFDBs(w io.Writer, t *route.MFTs) error {
	out := bufio.NewWriter(w)
	for v, table := range t.Tables {
		if !t.Graph.Usable(int32(v)) || len(table) == 0 {
			continue
		}
		node := t.Graph.Fabric().Node(t.Graph.Node(int32(v)))
		fmt.Fprintf(out, "\nSwitch 0x%016x\nLID    : Out Port(s)\n", uint64(node.GUID))
		for _, e := range table {
			fmt.Fprintf(out, "0x%04X :", uint16(e.MLID))
			for port := range uint16(route.MaxSetPort) + 1 {
				if e.Ports.Has(port) {
					fmt.Fprintf(out, " 0x%03X ", port)
				}
			}
			fmt.Fprintln(out)
		}
	}
	return out.Flush()
}

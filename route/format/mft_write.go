package format

import (
	"bufio"
	"fmt"
	"io"

	"heddle/fabric"
	"heddle/ib"
	"heddle/route"
)

// WriteMFTs writes the tables of all switches as dump_mfts prints them, also
// those without an entry. The range in a heading is what the switch's table can
// hold or, where that is not known, ends with the last entry.
func WriteMFTs(w io.Writer, t *route.MFTs) error {
	out := bufio.NewWriter(w)
	n := newNaming(t.Graph)
	var line []byte
	for v := range t.Tables {
		if !t.Graph.Usable(int32(v)) {
			continue
		}
		line = appendMFT(line[:0], n, int32(v), t.Tables[v])
		if _, err := out.Write(line); err != nil {
			return err
		}
	}
	return out.Flush()
}

func appendMFT(b []byte, n naming, v int32, table route.MFT) []byte {
	f := n.g.Fabric()
	id := n.g.Node(v)
	node := f.Node(id)
	b = fmt.Appendf(b, "Multicast mlids [%#x-%#x] of switch ", uint16(ib.FirstMLID), uint16(lastMLID(node, table)))
	b = n.appendHeading(b, v, f.Port(fabric.End{Node: id}).LID)
	b = appendColumns(b, int(node.NumPorts))
	for _, e := range table {
		b = appendRow(b, e, int(node.NumPorts))
	}
	return fmt.Appendf(b, "%d valid mlids dumped \n", len(table))
}

func lastMLID(node fabric.Node, table route.MFT) ib.MLID {
	switch {
	case node.MulticastCap > 0:
		return ib.FirstMLID + ib.MLID(min(int(node.MulticastCap), ib.NumMLIDs)-1)
	case len(table) > 0:
		return table[len(table)-1].MLID
	default:
		return ib.FirstMLID
	}
}

// appendColumns writes the port numbers over the columns, digit over digit. From
// port 100 on, the tens are the characters that follow '9'.
func appendColumns(b []byte, ports int) []byte {
	if ports > 9 {
		b = append(b, "            "...)
		for p := range ports + 1 {
			tens := byte(' ')
			if p%10 == 0 {
				tens = byte('0' + p/10)
			}
			b = append(b, tens, ' ')
		}
		b = append(b, '\n')
	}
	b = append(b, "     Ports: "...)
	for p := range ports + 1 {
		b = append(b, byte('0'+p%10), ' ')
	}
	return append(b, "\n MLid\n"...)
}

func appendRow(b []byte, e route.MFTEntry, ports int) []byte {
	b = e.MLID.AppendTo(b)
	b = append(b, "      "...)
	for p := range ports + 1 {
		if e.Ports.Has(uint16(p)) {
			b = append(b, "x "...)
		} else {
			b = append(b, "  "...)
		}
	}
	return append(b, '\n')
}

package format

import (
	"bufio"
	"fmt"
	"io"

	"heddle/fabric"
	"heddle/ib"
	"heddle/route"
)

// WriteLFTs writes the tables of all switches as dump_lfts prints them: a row
// for each LID that the switch forwards.
func WriteLFTs(w io.Writer, t *route.LFTs) error {
	out := bufio.NewWriterSize(w, 1<<16)
	n := newNaming(t.Graph)
	texts := destinations(t)
	base := switchLIDs(t)
	var line []byte
	for v, table := range t.Tables {
		if !t.Graph.Usable(int32(v)) {
			continue
		}
		line = fmt.Appendf(line[:0], "Unicast lids [0x0-%#x] of switch ", uint16(t.LIDs.Top()))
		line = n.appendHeading(line, int32(v), base[v])
		line = append(line, "  Lid  Out   Destination\n       Port     Info \n"...)
		rows := 0
		for l, port := range table {
			if port == route.NoPort {
				continue
			}
			rows++
			line = appendHex4(append(line, "0x"...), uint16(l))
			line = append(line, ' ', '0'+port/100, '0'+port/10%10, '0'+port%10, ' ')
			line = append(line, texts[l]...)
			if _, err := out.Write(append(line, '\n')); err != nil {
				return err
			}
			line = line[:0]
		}
		if _, err := out.Write(fmt.Appendf(line, "%d valid lids dumped \n", rows)); err != nil {
			return err
		}
	}
	return out.Flush()
}

const lowerHex = "0123456789abcdef"

func appendHex4(b []byte, x uint16) []byte {
	return append(b, lowerHex[x>>12], lowerHex[x>>8&15], lowerHex[x>>4&15], lowerHex[x&15])
}

// switchLIDs gives the LID of each switch, by vertex.
func switchLIDs(t *route.LFTs) []ib.LID {
	base := make([]ib.LID, t.Graph.NumVertices())
	for l := t.LIDs.Top(); l > 0; l-- {
		if e, ok := t.LIDs.Owner(l); ok && t.Graph.Vertex(e.Node) >= 0 {
			base[t.Graph.Vertex(e.Node)] = l
		}
	}
	return base
}

// destinations gives for each LID the text at the end of its row: who owns it
// or, for a further LID of a port, which of its paths it is.
func destinations(t *route.LFTs) []string {
	texts := make([]string, int(t.LIDs.Top())+1)
	for first := 1; first < len(texts); {
		owner, ok := t.LIDs.Owner(ib.LID(first))
		if !ok {
			first++
			continue
		}
		count := 1
		for ; first+count < len(texts); count++ {
			if next, ok := t.LIDs.Owner(ib.LID(first + count)); !ok || next != owner {
				break
			}
		}
		texts[first] = ownerText(t.Graph.Fabric(), owner)
		for k := 1; k < count; k++ {
			texts[first+k] = fmt.Sprintf(": (path #%d out of %d: portguid 0x%016x)", k+1, count, uint64(portGUID(t.Graph.Fabric(), owner)))
		}
		first += count
	}
	return texts
}

func ownerText(f *fabric.Fabric, e fabric.End) string {
	kind := "Channel Adapter"
	switch f.Node(e.Node).Kind {
	case fabric.Switch:
		kind = "Switch"
	case fabric.Router:
		kind = "Router"
	case fabric.Adapter:
	}
	return fmt.Sprintf(": (%s portguid 0x%016x: '%s')", kind, uint64(portGUID(f, e)), f.Node(e.Node).Name)
}

// portGUID is a port's GUID; that of port 0 of a switch is the node's.
func portGUID(f *fabric.Fabric, e fabric.End) ib.GUID {
	if g := f.Port(e).GUID; g.IsValid() || e.Port != 0 {
		return g
	}
	return f.Node(e.Node).GUID
}

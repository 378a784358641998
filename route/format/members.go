package format

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"

	"heddle/fabric"
	"heddle/ib"
	"heddle/route"
)

// WriteMembers writes a line for each group of a demand: its MLID and the ports
// that its tree reaches, as NODE:PORT with the node's ID, or as port GUID where
// an ID would be misread. Members that are cut off are left out, in a comment.
func WriteMembers(w io.Writer, g *route.Graph, d *route.Demand, mlids []ib.MLID) error {
	if len(mlids) != d.NumGroups() {
		return fmt.Errorf("%d MLIDs for %d groups", len(mlids), d.NumGroups())
	}
	out := bufio.NewWriter(w)
	cut := d.CutOff()
	var line []byte
	for i, mlid := range mlids {
		line = mlid.AppendTo(line[:0])
		var lost map[fabric.End]bool
		for ; len(cut) > 0 && cut[0].Group == i; cut = cut[1:] {
			if lost == nil {
				lost = map[fabric.End]bool{}
			}
			lost[cut[0].Member] = true
		}
		for _, m := range d.Group(i).Members {
			if !lost[m] {
				line = append(line, ' ')
				line = appendMember(line, g.Fabric(), m)
			}
		}
		if len(lost) > 0 {
			line = fmt.Appendf(line, "\n# %v: %d members are cut off", mlid, len(lost))
		}
		if _, err := out.Write(append(line, '\n')); err != nil {
			return err
		}
	}
	return out.Flush()
}

func appendMember(b []byte, f *fabric.Fabric, m fabric.End) []byte {
	node, guid := f.Node(m.Node), f.Port(m).GUID
	plain := node.ID != "" && !strings.ContainsAny(node.ID, ": \t\r\n\v\f") && !strings.HasPrefix(strings.ToLower(node.ID), "0x")
	if !plain && guid.IsValid() {
		return guid.AppendTo(b)
	}
	b = append(b, node.ID...)
	b = append(b, ':')
	return strconv.AppendUint(b, uint64(m.Port), 10)
}

// ReadMembers reads what WriteMembers writes: groups, and their MLIDs. A member
// may also be given by a node's description without spaces; without :PORT it is
// port 1. Lines that begin with # are comments.
func ReadMembers(r io.Reader, f *fabric.Fabric) ([]fabric.Group, []ib.MLID, error) {
	var groups []fabric.Group
	var mlids []ib.MLID
	seen := map[ib.MLID]bool{}
	l := newLines(r)
	err := l.each(func(line string) error {
		words := strings.Fields(line)
		if len(words) == 0 || strings.HasPrefix(words[0], "#") {
			return nil
		}
		mlid, err := ib.ParseMLID(words[0])
		if err != nil {
			return l.fault("%v", err)
		}
		if seen[mlid] {
			return l.fault("%v is listed again", mlid)
		}
		seen[mlid] = true
		group := fabric.Group{Name: mlid.String()}
		for _, word := range words[1:] {
			m, err := member(f, word)
			if err != nil {
				return l.fault("%v", err)
			}
			group.Members = append(group.Members, m)
		}
		groups, mlids = append(groups, group), append(mlids, mlid)
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	return groups, mlids, nil
}

func member(f *fabric.Fabric, word string) (fabric.End, error) {
	if strings.HasPrefix(strings.ToLower(word), "0x") {
		guid, err := ib.ParseGUID(word)
		if err != nil {
			return fabric.End{}, err
		}
		if m, ok := f.ByPortGUID(guid); ok {
			return m, nil
		}
		return fabric.End{}, fmt.Errorf("no port has the GUID %v", guid)
	}
	name, digits, ok := strings.Cut(word, ":")
	if !ok || digits == "" {
		digits = "1"
	}
	port, err := strconv.ParseUint(digits, 10, 16)
	if err != nil {
		return fabric.End{}, fmt.Errorf("%q is no port", digits)
	}
	id, ok := f.ByID(name)
	if ids := f.ByName(name); !ok && len(ids) == 1 {
		id, ok = ids[0], true
	}
	if !ok {
		return fabric.End{}, fmt.Errorf("%q names no node, or several", name)
	}
	if n := f.Node(id).NumPorts; uint16(port) > n {
		return fabric.End{}, fmt.Errorf("%s has ports up to %d, not %d", f.Node(id).Label(), n, port)
	}
	return fabric.End{Node: id, Port: uint16(port)}, nil
}

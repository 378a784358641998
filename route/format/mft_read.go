package format

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"heddle/ib"
	"heddle/route"
)

// ReadMFTs reads what dump_mfts, or several ibroute -M one after the other,
// printed; also with their options -n, which gives masks in place of columns,
// and -a, which lists empty rows.
func ReadMFTs(r io.Reader, g *route.Graph) (*route.MFTs, error) {
	m := mftReader{lines: newLines(r), finder: newFinder(g), t: &route.MFTs{Graph: g, Tables: make([]route.MFT, g.NumVertices())}, v: -1}
	if err := m.each(m.line); err != nil {
		return nil, err
	}
	return m.t, nil
}

type mftReader struct {
	*lines
	*finder
	t     *route.MFTs
	v     int32 // the switch at hand, -1 before the first heading
	first int   // the column of port 0; -1 for masks, 0 for not yet known
}

func (m *mftReader) line(line string) error {
	var err error
	switch {
	case strings.HasPrefix(line, "Multicast mlids "):
		m.first = 0
		m.v, err = m.heading(line)
	case strings.HasPrefix(strings.TrimLeft(line, " "), "Ports:"):
		m.first = strings.Index(line, "Ports:") + len("Ports: ")
	case strings.HasPrefix(strings.TrimLeft(line, " "), "MLid") && strings.HasSuffix(line, "Port Mask"):
		m.first = -1
	case isRow(line):
		err = m.row(line)
	}
	if err != nil {
		return m.fault("%v", err)
	}
	return nil
}

func (m *mftReader) row(line string) error {
	if m.v < 0 || m.first == 0 {
		return fmt.Errorf("a row without a heading")
	}
	address, rest, err := cutRow(line)
	if err != nil {
		return err
	}
	mlid := ib.MLID(address)
	if !mlid.IsValid() {
		return fmt.Errorf("%v is no MLID", mlid)
	}
	table := m.t.Tables[m.v]
	if last := len(table) - 1; last >= 0 && table[last].MLID >= mlid {
		return fmt.Errorf("%v follows %v", mlid, table[last].MLID)
	}
	var ports route.PortSet
	if m.first < 0 {
		ports, err = portMask(strings.TrimSpace(rest), m.limit())
	} else {
		ports, err = portColumns(line, m.first, m.limit())
	}
	if err == nil && ports.Len() > 0 {
		m.t.Tables[m.v] = append(table, route.MFTEntry{MLID: mlid, Ports: ports})
	}
	return err
}

// limit is the highest port of the switch at hand.
func (m *mftReader) limit() int { return int(m.g.Fabric().Node(m.g.Node(m.v)).NumPorts) }

func portColumns(line string, first, limit int) (ports route.PortSet, err error) {
	for i := first; i < len(line); i++ {
		port := (i - first) / 2
		switch {
		case line[i] == ' ':
		case line[i] != 'x' || (i-first)%2 != 0:
			return ports, fmt.Errorf("%q in column %d", line[i], i+1)
		case port > min(limit, route.MaxSetPort):
			return ports, fmt.Errorf("port %d of %d", port, limit)
		default:
			ports.Add(uint16(port))
		}
	}
	return ports, nil
}

// portMask reads four digits for each 16 ports, the lowest first.
func portMask(digits string, limit int) (ports route.PortSet, err error) {
	if len(digits)%4 != 0 || len(digits) > 64 {
		return ports, fmt.Errorf("%d digits are no masks of 16 ports", len(digits))
	}
	for at := 0; at < len(digits); at += 4 {
		mask, err := strconv.ParseUint(digits[at:at+4], 16, 16)
		if err != nil {
			return ports, fmt.Errorf("%q is no mask of ports", digits[at:at+4])
		}
		for bit := range 16 {
			port := at*4 + bit
			if mask>>bit&1 == 0 {
				continue
			}
			if port > limit {
				return ports, fmt.Errorf("port %d of %d", port, limit)
			}
			ports.Add(uint16(port))
		}
	}
	return ports, nil
}

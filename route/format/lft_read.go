package format

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"heddle/ib"
	"heddle/route"
)

// ReadLFTs reads what dump_lfts, or several ibroute one after the other,
// printed, also with their options -a and -n, or OpenSM's file opensm-lfts.dump.
// The tables are for the given LIDs; a row for a LID that is no port's is left
// out.
func ReadLFTs(r io.Reader, g *route.Graph, lids *route.LIDs) (*route.LFTs, error) {
	return readLFTs(r, g, lids, "Unicast lids ", (*finder).heading, dumpPort)
}

// ReadFDBs reads OpenSM's file opensm.fdbs; see ReadLFTs.
func ReadFDBs(r io.Reader, g *route.Graph, lids *route.LIDs) (*route.LFTs, error) {
	return readLFTs(r, g, lids, fdbHeading, (*finder).fdb, fdbPort)
}

// readLFTs reads tables whose headings begin with start and name a switch that
// find finds, and whose rows are a LID and a port that parse understands.
func readLFTs(r io.Reader, g *route.Graph, lids *route.LIDs, start string,
	find func(*finder, string) (int32, error), parse func(string) (int, error),
) (*route.LFTs, error) {
	t, err := route.NewLFTs(g, lids)
	if err != nil {
		return nil, err
	}
	l := lftReader{lines: newLines(r), t: t, v: -1, parse: parse}
	f := newFinder(g)
	err = l.each(func(line string) (err error) {
		switch {
		case strings.HasPrefix(line, start):
			l.last = -1
			l.v, err = find(f, line)
		case isRow(line):
			err = l.row(line)
		}
		if err != nil {
			return l.fault("%v", err)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return t, nil
}

type lftReader struct {
	*lines
	t     *route.LFTs
	v     int32 // the switch at hand, -1 before the first heading
	last  int   // the last LID of the table
	parse func(string) (int, error)
}

func (l *lftReader) row(line string) error {
	if l.v < 0 {
		return fmt.Errorf("a row without a heading")
	}
	lid, rest, err := cutRow(line)
	if err != nil {
		return err
	}
	if int(lid) <= l.last {
		return fmt.Errorf("LID %d follows %d", lid, l.last)
	}
	l.last = int(lid)
	port, err := l.parse(rest)
	if err != nil {
		return err
	}
	if port == route.NoPort {
		return nil
	}
	g := l.t.Graph
	if n := g.Fabric().Node(g.Node(l.v)).NumPorts; port > int(n) {
		return fmt.Errorf("port %d of %d of switch %s", port, n, g.Label(l.v))
	}
	if _, ok := l.t.LIDs.Owner(ib.LID(lid)); ok {
		l.t.Tables[l.v][lid] = uint8(port)
	}
	return nil
}

// dumpPort reads the port of a row of dump_lfts: the word after the LID.
func dumpPort(rest string) (int, error) {
	word, _, _ := strings.Cut(strings.TrimLeft(rest, " "), " ")
	return parsePort(word)
}

func parsePort(word string) (int, error) {
	port, err := strconv.ParseUint(word, 10, 8)
	if err != nil {
		return 0, fmt.Errorf("%q is no port", word)
	}
	return int(port), nil
}

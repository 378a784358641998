package opensm

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"heddle/ib"
	"heddle/sm/plan"
)

// ReadLIDs reads a guid2lid file, which says what LIDs ports had:
//
//	0x0002c90300001234 0x0004 0x0004
//
// with an empty line after each. A line that is malformed, of a port that has
// one already, or with LIDs that another port has, is a fault, and left out:
// the first one counts. The error is the reader's.
func ReadLIDs(r io.Reader, name string) (map[ib.GUID]plan.LIDRange, []Fault, error) {
	lids := map[ib.GUID]plan.LIDRange{}
	owner := map[ib.LID]ib.GUID{}
	f := faults{file: name}
	err := eachLine(r, func(number int, line string) {
		guid, own, err := parseLIDs(line)
		if err == nil {
			err = claim(lids, owner, guid, own)
		}
		if err != nil {
			f.report(number, "%v: left out", err)
		}
	})
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", name, err)
	}
	return lids, f.list, nil
}

func parseLIDs(line string) (guid ib.GUID, own plan.LIDRange, err error) {
	words := strings.Fields(line)
	if len(words) != 3 {
		return 0, own, fmt.Errorf("%s: want a GUID and its first and last LID", shown(line))
	}
	if guid, err = ib.ParseGUID(words[0]); err != nil {
		return 0, own, err
	}
	if own.First, err = ib.ParseLID(words[1]); err != nil {
		return 0, own, err
	}
	if own.Last, err = ib.ParseLID(words[2]); err != nil {
		return 0, own, err
	}
	return guid, own, checkRange(guid, own)
}

// checkRange wants a range that an LMC gives.
func checkRange(guid ib.GUID, own plan.LIDRange) error {
	size := own.Last - own.First + 1
	switch {
	case !guid.IsValid():
		return fmt.Errorf("GUID %v is no port's", guid)
	case own.Last < own.First:
		return fmt.Errorf("LIDs %v to %v: the last is before the first", own.First, own.Last)
	case size > maxLIDs || size&(size-1) != 0 || own.First&(size-1) != 0:
		return fmt.Errorf("LIDs %v to %v are not those of any LMC", own.First, own.Last)
	default:
		return nil
	}
}

const maxLIDs = 1 << 7 // of a port, by the largest LMC

func claim(lids map[ib.GUID]plan.LIDRange, owner map[ib.LID]ib.GUID, guid ib.GUID, own plan.LIDRange) error {
	if old, ok := lids[guid]; ok {
		return fmt.Errorf("port %v has LID %v already", guid, old.First)
	}
	for lid := own.First; lid <= own.Last; lid++ {
		if other, ok := owner[lid]; ok {
			return fmt.Errorf("LID %v of port %v is that of port %v", lid, guid, other)
		}
	}
	for lid := own.First; lid <= own.Last; lid++ {
		owner[lid] = guid
	}
	lids[guid] = own
	return nil
}

// WriteLIDs writes a guid2lid file, in the order of the GUIDs.
func WriteLIDs(w io.Writer, lids map[ib.GUID]plan.LIDRange) error {
	b := bufio.NewWriter(w)
	for _, guid := range slices.Sorted(maps.Keys(lids)) {
		own := lids[guid]
		fmt.Fprintf(b, "%v %#04x %#04x\n\n", guid, uint16(own.First), uint16(own.Last))
	}
	return b.Flush()
}

package store

import (
	"encoding/binary"
	"fmt"

	"heddle/ib"
)

// LIDRange is the LIDs of a port.
type LIDRange struct{ First, Last ib.LID }

const (
	lidBucket  = "guid2lid"
	lidVersion = 1
	lidLen     = 4
)

func guidKey(port ib.GUID) []byte { return binary.BigEndian.AppendUint64(nil, uint64(port)) }

func (r LIDRange) append(b []byte) []byte {
	return binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint16(b, uint16(r.First)), uint16(r.Last))
}

// LIDs gives the LIDs of all ports.
func (s *Store) LIDs() (map[ib.GUID]LIDRange, error) {
	records, err := s.Records(lidBucket)
	if err != nil {
		return nil, err
	}
	lids := make(map[ib.GUID]LIDRange, len(records))
	for _, r := range records {
		if r.Version != lidVersion || len(r.Key) != 8 || len(r.Value) != lidLen {
			return nil, fmt.Errorf("store: LIDs of %x: version %d, %d bytes", r.Key, r.Version, len(r.Value))
		}
		lids[ib.GUID(binary.BigEndian.Uint64(r.Key))] = LIDRange{
			ib.LID(binary.BigEndian.Uint16(r.Value)), ib.LID(binary.BigEndian.Uint16(r.Value[2:])),
		}
	}
	return lids, nil
}

package admin

import "heddle/mad"

func (r *request) lftRecords() {
	for e, n := range r.switches() {
		for first := 0; first < len(n.LFT); first += len(mad.LinearForwarding{}) {
			record := mad.LFTRecord{LID: e.lid, Block: uint16(first / len(mad.LinearForwarding{}))}
			for i := copy(record.Ports[:], n.LFT[first:]); i < len(record.Ports); i++ {
				record.Ports[i] = mad.NoPort
			}
			if !put(r, record) {
				return
			}
		}
	}
}

const (
	mftBlocks    = 512 // of 32 MLIDs, as many as there can be
	mftPositions = 16  // of 16 ports
)

func (r *request) mftRecords() {
	q, err := mad.ParseMFTRecord(r.data)
	if err != nil {
		return
	}
	for e, n := range r.switches() {
		if !r.mftOf(e, n, &q) {
			return
		}
	}
}

// mftOf puts the blocks of a switch that it is known to hold, of those that are
// asked for.
func (r *request) mftOf(e *end, n *Node, q *mad.MFTRecord) bool {
	tables := r.snapshot.subnet.MFTs
	if tables == nil {
		return true
	}
	blocks, positions := mftBlocks, min(mftPositions, (len(n.Ports)+15)/16)
	if n.Switch != nil {
		blocks = min(blocks, (int(n.Switch.MulticastFDBCap)+31)/32)
	}
	for position := range uint8(positions) {
		if r.mask.Has(mad.MFTRecordPosition) && position != q.Position {
			continue
		}
		for block := range uint16(blocks) {
			if r.mask.Has(mad.MFTRecordBlock) && block != q.Block {
				continue
			}
			r.work++
			ports, ok := tables.MFT(n.Info.NodeGUID, block, position)
			if ok && !put(r, mad.MFTRecord{LID: e.lid, Position: position, Block: block, Ports: ports}) {
				return false
			}
		}
	}
	return true
}

func (r *request) slToVLRecords() {
	for e, number := range r.ports() {
		for in, mapping := range r.snapshot.node(e).Ports[number].SLtoVL {
			record := mad.SLtoVLRecord{LID: e.lid, InputPort: uint8(in), OutputPort: number, Mapping: mapping}
			if !put(r, record) {
				return
			}
		}
	}
}

func (r *request) vlArbitrationRecords() {
	for e, number := range r.ports() {
		for i, table := range r.snapshot.node(e).Ports[number].VLArbitration {
			if table == nil {
				continue
			}
			part := mad.VLArbitrationLowFirst + mad.VLArbitrationPart(i)
			if !put(r, mad.VLArbitrationRecord{LID: e.lid, OutputPort: number, Block: part, Table: *table}) {
				return
			}
		}
	}
}

// pkeyRecords tells whom it does not trust of its own port only.
func (r *request) pkeyRecords() {
	for e, number := range r.ports() {
		if !r.trusted && e != r.asker {
			continue
		}
		keys := r.snapshot.node(e).Ports[number].PKeys
		if keys == nil && number == e.port {
			keys = r.snapshot.pkeys(e)
		}
		for first := 0; first < len(keys); first += len(mad.PKeyTable{}) {
			record := mad.PKeyRecord{LID: e.lid, Block: uint16(first / len(mad.PKeyTable{})), Port: number}
			copy(record.PKeys[:], keys[first:])
			if !put(r, record) {
				return
			}
		}
	}
}

func (r *request) guidInfoRecords() {
	for e := range r.ends() {
		guids := r.snapshot.port(e).GUIDs
		for first := 0; first == 0 || first < len(guids); first += len(mad.GUIDInfo{}) {
			record := mad.GUIDInfoRecord{LID: e.lid, Block: uint8(first / len(mad.GUIDInfo{}))}
			if first < len(guids) {
				copy(record.GUIDs[:], guids[first:])
			}
			if first == 0 {
				record.GUIDs[0] = e.guid
			}
			if !put(r, record) {
				return
			}
		}
	}
}

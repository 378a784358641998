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

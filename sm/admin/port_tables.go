package admin

import (
	"heddle/ib"
	"heddle/mad"
)

// PortTables are tables of ports that a sweep does not read: SLtoVLMapping,
// VLArbitration, GUIDInfo, and the P_KeyTable of a switch's external port. They
// are called by many goroutines at once.
type PortTables interface {
	// Table gives what is known of a table. known is false where nothing is;
	// ok is false, too, where the port said that it has no such table. It does
	// not block.
	Table(t PortTable) (data [64]byte, known, ok bool)
	// Read asks ports for tables, and returns when all answered, or do not
	// answer. It may block for as long as that takes.
	Read(list []PortTable)
	// Write writes a table, and tells whether the port took it. It blocks.
	Write(t PortTable, data [64]byte) bool
}

// PortTable names a table.
type PortTable struct {
	Node int32 // its index in Subnet.Nodes
	// Port is the port by whose agent it is asked: that of an adapter, 0 of a
	// switch.
	Port     uint8
	Attr     mad.AttrID
	Modifier uint32
}

// MayBlock tells whether requests of an attribute may have to wait for what
// ports answer: others should not wait behind them.
func MayBlock(attr mad.AttrID) bool {
	switch attr {
	case mad.AttrSLtoVLRecord, mad.AttrVLArbitrationRecord, mad.AttrPKeyRecord, mad.AttrGUIDInfoRecord:
		return true
	default:
		return false
	}
}

// maxUnknown is how many tables one request may have read from ports.
const maxUnknown = 1 << 17

// table gives a table, or notes that it has to be read.
func (r *request) table(e *end, attr mad.AttrID, modifier uint32) (data []byte, ok bool) {
	tables := r.snapshot.subnet.Tables
	if tables == nil {
		return nil, false
	}
	r.work++
	t := PortTable{Node: e.node, Port: e.port, Attr: attr, Modifier: modifier}
	known := false
	var whole [64]byte
	if whole, known, ok = tables.Table(t); ok {
		return whole[:], true
	}
	switch {
	case known:
	case len(r.unknown) == maxUnknown:
		r.full = true
	default:
		r.unknown = append(r.unknown, t)
	}
	return nil, false
}

// withTables puts records that need tables of ports: once more, if some had to
// be read first.
func (r *request) withTables(records func(*request)) {
	start := len(r.out)
	records(r)
	if len(r.unknown) == 0 || r.full {
		return
	}
	r.snapshot.subnet.Tables.Read(r.unknown)
	r.out, r.records, r.unknown = r.out[:start], 0, nil
	records(r)
}

// wants tells whether a query that names a port, or a block, may be about one.
func wants[T comparable](r *request, component mad.ComponentMask, asked, have T) bool {
	return !r.mask.Has(component) || asked == have
}

func (r *request) slToVLRecords() {
	q, err := mad.ParseSLtoVLRecord(r.data)
	if err != nil {
		return
	}
	for e, out := range r.ports() {
		if !wants(r, mad.SLtoVLRecordOutputPort, q.OutputPort, out) {
			continue
		}
		for in := range r.inputs(e) {
			if !wants(r, mad.SLtoVLRecordInputPort, q.InputPort, in) {
				continue
			}
			modifier := uint32(0)
			if r.snapshot.node(e).IsSwitch() {
				modifier = mad.SLtoVLModifier(in, out)
			}
			if mapping, ok := parsedTable(r, e, mad.AttrSLtoVLMapping, modifier, mad.ParseSLtoVLMapping); ok &&
				!put(r, mad.SLtoVLRecord{LID: e.lid, InputPort: in, OutputPort: out, Mapping: mapping}) {
				return
			}
		}
	}
}

// inputs is how many ports packets come in by: those of a switch, with its own;
// an adapter's packets come from itself.
func (r *request) inputs(e *end) uint8 {
	if n := r.snapshot.node(e); n.IsSwitch() {
		return uint8(min(len(n.Ports), 255))
	}
	return 1
}

// parsedTable is table in the form of its attribute.
func parsedTable[T any](r *request, e *end, attr mad.AttrID, modifier uint32, parse func([]byte) (T, error)) (v T, ok bool) {
	data, ok := r.table(e, attr, modifier)
	if !ok {
		return v, false
	}
	v, err := parse(data)
	return v, err == nil
}

func (r *request) vlArbitrationRecords() {
	q, err := mad.ParseVLArbitrationRecord(r.data)
	if err != nil {
		return
	}
	for e, number := range r.ports() {
		if !wants(r, mad.VLArbitrationRecordOutputPort, q.OutputPort, number) {
			continue
		}
		own := number
		if !r.snapshot.node(e).IsSwitch() {
			own = 0
		}
		for _, part := range arbitrationParts(&r.snapshot.node(e).Ports[number].Info) {
			if !wants(r, mad.VLArbitrationRecordBlock, q.Block, part) {
				continue
			}
			t, ok := parsedTable(r, e, mad.AttrVLArbitration, mad.VLArbitrationModifier(part, own), mad.ParseVLArbitration)
			if ok && !put(r, mad.VLArbitrationRecord{LID: e.lid, OutputPort: number, Block: part, Table: t}) {
				return
			}
		}
	}
}

// arbitrationParts are the parts of the tables that a port says it has.
func arbitrationParts(info *mad.PortInfo) (parts []mad.VLArbitrationPart) {
	const half = uint8(len(mad.VLArbitration{}))
	for i, has := range []bool{
		info.VLArbitrationLowCap > 0, info.VLArbitrationLowCap > half,
		info.VLArbitrationHighCap > 0, info.VLArbitrationHighCap > half,
	} {
		if has {
			parts = append(parts, mad.VLArbitrationLowFirst+mad.VLArbitrationPart(i))
		}
	}
	return parts
}

// pkeyRecords tells whom it does not trust of its own port only.
func (r *request) pkeyRecords() {
	q, err := mad.ParsePKeyRecord(r.data)
	if err != nil {
		return
	}
	for e, number := range r.ports() {
		if !r.trusted && e != r.asker || !wants(r, mad.PKeyRecordPort, q.Port, number) {
			continue
		}
		more := true
		if number == e.port {
			more = r.pkeysOf(e)
		} else {
			more = r.externalPKeys(e, number, &q)
		}
		if !more {
			return
		}
	}
}

// pkeysOf puts the table of a port with a LID.
func (r *request) pkeysOf(e *end) bool {
	keys := r.snapshot.pkeys(e)
	for first := 0; first < len(keys); first += len(mad.PKeyTable{}) {
		record := mad.PKeyRecord{LID: e.lid, Block: uint16(first / len(mad.PKeyTable{})), Port: e.port}
		copy(record.PKeys[:], keys[first:])
		if !put(r, record) {
			return false
		}
	}
	return true
}

// externalPKeys puts the table by which an external port of a switch enforces
// partitions.
func (r *request) externalPKeys(e *end, number uint8, q *mad.PKeyRecord) bool {
	info := r.snapshot.node(e).Switch
	if info == nil {
		return true
	}
	blocks := (int(info.PartitionEnforcementCap) + len(mad.PKeyTable{}) - 1) / len(mad.PKeyTable{})
	for block := range uint16(blocks) {
		if !wants(r, mad.PKeyRecordBlock, q.Block, block) {
			continue
		}
		keys, ok := parsedTable(r, e, mad.AttrPKeyTable, mad.PKeyTableModifier(number, block), mad.ParsePKeyTable)
		if ok && !put(r, mad.PKeyRecord{LID: e.lid, Block: block, Port: number, PKeys: keys}) {
			return false
		}
	}
	return true
}

func (r *request) guidInfoRecords() {
	q, err := mad.ParseGUIDInfoRecord(r.data)
	if err != nil {
		return
	}
	for e := range r.ends() {
		for block := range uint8(guidBlocks(r.snapshot.port(e))) {
			if !wants(r, mad.GUIDInfoRecordBlock, q.Block, block) {
				continue
			}
			guids, ok := parsedTable(r, e, mad.AttrGUIDInfo, uint32(block), mad.ParseGUIDInfo)
			if block == 0 {
				guids[0], ok = e.guid, true // also of a port that does not answer
			}
			if ok && !put(r, mad.GUIDInfoRecord{LID: e.lid, Block: block, GUIDs: guids}) {
				return
			}
		}
	}
}

// guidBlocks is how many blocks of the GUID table a port has, at least the one
// with its own GUID.
func guidBlocks(p *Port) int {
	const size = len(mad.GUIDInfo{})
	return max(1, (int(p.Info.GUIDCap)+size-1)/size)
}

// guidsOf is a block of the table with a port's own GUID and its aliases.
func guidsOf(own ib.GUID, aliases []ib.GUID, block uint8) (g mad.GUIDInfo) {
	if first := int(block) * len(g); first < len(aliases) {
		copy(g[:], aliases[first:])
	}
	if block == 0 {
		g[0] = own
	}
	return g
}

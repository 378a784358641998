package plan

import (
	"unique"

	"heddle/ib"
	"heddle/mad"
)

// A port's tables that change seldom are not read by a sweep: SLtoVLMapping,
// VLArbitration, GUIDInfo, and the P_KeyTable of a switch's external port. Held
// knows those that somebody asked for, until the node is forgotten.

// tableKey names a table of a node. Adapters' ports have the same modifiers.
type tableKey struct {
	attr     mad.AttrID
	port     uint8
	modifier uint32
}

// table is what a port holds; ports hold few different ones. none is of one
// that the port says it does not have.
type table struct {
	data unique.Handle[[64]byte]
	none bool
}

// Told takes the answer to a Get or a Set of a table of a port: its data, or,
// with ok false, that the port has no such table. Other attributes change
// nothing.
func (h *Held) Told(guid ib.GUID, port uint8, attr mad.AttrID, modifier uint32, data []byte, ok bool) {
	length := tableLen(attr, modifier)
	if length == 0 {
		return
	}
	t := table{none: !ok}
	if ok {
		var whole [64]byte
		copy(whole[:length], data)
		t.data = unique.Make(whole)
	}
	if h.tables[guid] == nil {
		h.tables[guid] = map[tableKey]table{}
	}
	h.tables[guid][tableKey{attr, port, modifier}] = t
}

// tableLen is how many bytes of a MAD's data are the table, 0 for what is not
// kept here.
func tableLen(attr mad.AttrID, modifier uint32) int {
	switch attr {
	case mad.AttrSLtoVLMapping:
		return mad.SLtoVLMapping{}.Len()
	case mad.AttrVLArbitration, mad.AttrGUIDInfo:
		return 64
	case mad.AttrPKeyTable:
		if port, _ := mad.SplitPKeyTableModifier(modifier); port > 0 {
			return 64
		}
		return 0 // a sweep reads it
	default:
		return 0
	}
}

// Doubt forgets a table of a port: a Set of it was not answered.
func (h *Held) Doubt(guid ib.GUID, port uint8, attr mad.AttrID, modifier uint32) {
	delete(h.tables[guid], tableKey{attr, port, modifier})
}

// Table is what a port is known to hold. known is true too, and ok false, where
// it has no such table.
func (h *Held) Table(guid ib.GUID, port uint8, attr mad.AttrID, modifier uint32) (data [64]byte, known, ok bool) {
	t, known := h.tables[guid][tableKey{attr, port, modifier}]
	if !known || t.none {
		return data, known, false
	}
	return t.data.Value(), true, true
}

// Mapping is Table of the SLtoVLMapping of a switch's port, which may have been
// written for all ports that packets come in by.
func (h *Held) Mapping(guid ib.GUID, in, out uint8) (data [64]byte, known, ok bool) {
	if data, known, ok = h.Table(guid, 0, mad.AttrSLtoVLMapping, wildcard|uint32(out)); ok {
		return data, known, ok
	}
	return h.Table(guid, 0, mad.AttrSLtoVLMapping, mad.SLtoVLModifier(in, out))
}

// table tells whether it is known what a port holds where a Set writes, and
// whether nothing is to be written: it is that, or the port has no such table.
func (h *Held) table(s *SMP) (known, held bool) {
	t, known := h.tables[s.Node.GUID()][tableKey{s.Attr, s.Port, s.Modifier}]
	return known, known && (t.none || t.data == unique.Make(s.Data))
}

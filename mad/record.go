package mad

import "fmt"

// Record is an attribute of subnet administration that stands in its tables
// (IBTA 1, 15.2.5). Record types are values; MultiPathRecord, which only asks,
// is none.
type Record interface {
	Attribute
	// AttrID is what the record is called in a header.
	AttrID() AttrID
}

// Field is one field of a record's layout. Fields follow each other without
// gaps, and that of index n is bit n of the component mask: a layout is the
// table that the specification prints.
type Field struct {
	// Name is the specification's, without underscores; empty for reserved bits.
	Name string
	// Bits is the length, from 1 to 512.
	Bits int

	order order
}

// order is how a field compares when another field selects less or greater.
type order uint8

const (
	unordered order = iota
	selector        // says how the next field compares
	byCode
	byRate
)

// numbered gives n fields of the same length, called name[0],
// name[1] and so on.
func numbered(name string, n, bits int) []Field {
	fields := make([]Field, n)
	for i := range fields {
		fields[i] = Field{Name: fmt.Sprintf("%s[%d]", name, i), Bits: bits}
	}
	return fields
}

// Layout gives the fields of a record, in order; nil for an attribute that is
// no record. The caller must not change them.
func Layout(a AttrID) []Field {
	switch a {
	case AttrNodeRecord:
		return nodeRecordLayout
	case AttrPortInfoRecord:
		return portInfoRecordLayout
	case AttrSLtoVLRecord:
		return slToVLRecordLayout
	case AttrSwitchInfoRecord:
		return switchInfoRecordLayout
	case AttrLFTRecord:
		return lftRecordLayout
	case AttrMFTRecord:
		return mftRecordLayout
	case AttrSMInfoRecord:
		return smInfoRecordLayout
	case AttrInformInfoRecord:
		return informInfoRecordLayout
	case AttrLinkRecord:
		return linkRecordLayout
	case AttrGUIDInfoRecord:
		return guidInfoRecordLayout
	case AttrServiceRecord:
		return serviceRecordLayout
	case AttrPKeyRecord:
		return pkeyRecordLayout
	case AttrPathRecord:
		return pathRecordLayout
	case AttrVLArbitrationRecord:
		return vlArbitrationRecordLayout
	case AttrMCMemberRecord:
		return mcMemberRecordLayout
	case AttrMCGStateRecord:
		return mcgStateRecordLayout
	default:
		return nil
	}
}

package mad

// parseSA reads a record, or another attribute of subnet administration.
// ClassPortInfo is that of all classes, see ParseAttribute.
func parseSA(a AttrID, data []byte) (Attribute, error) {
	switch a {
	case AttrNotice:
		return attribute(ParseNotice(data))
	case AttrInformInfo:
		return attribute(ParseInformInfo(data))
	case AttrNodeRecord:
		return attribute(ParseNodeRecord(data))
	case AttrPortInfoRecord:
		return attribute(ParsePortInfoRecord(data))
	case AttrSLtoVLRecord:
		return attribute(ParseSLtoVLRecord(data))
	case AttrSwitchInfoRecord:
		return attribute(ParseSwitchInfoRecord(data))
	case AttrLFTRecord:
		return attribute(ParseLFTRecord(data))
	case AttrMFTRecord:
		return attribute(ParseMFTRecord(data))
	case AttrSMInfoRecord:
		return attribute(ParseSMInfoRecord(data))
	case AttrInformInfoRecord:
		return attribute(ParseInformInfoRecord(data))
	case AttrLinkRecord:
		return attribute(ParseLinkRecord(data))
	case AttrGUIDInfoRecord:
		return attribute(ParseGUIDInfoRecord(data))
	case AttrServiceRecord:
		return attribute(ParseServiceRecord(data))
	case AttrPKeyRecord:
		return attribute(ParsePKeyRecord(data))
	case AttrPathRecord:
		return attribute(ParsePathRecord(data))
	case AttrVLArbitrationRecord:
		return attribute(ParseVLArbitrationRecord(data))
	case AttrMCMemberRecord:
		return attribute(ParseMCMemberRecord(data))
	case AttrMultiPathRecord:
		return attribute(ParseMultiPathRecord(data))
	case AttrMCGStateRecord:
		return attribute(ParseMCGStateRecord(data))
	default:
		return nil, unknownAttribute(ClassSA, a)
	}
}

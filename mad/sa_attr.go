package mad

// parseSA reads a record, or another attribute of subnet administration.
func parseSA(a AttrID, _ []byte) (Attribute, error) {
	switch a {
	default:
		return nil, unknownAttribute(ClassSA, a)
	}
}

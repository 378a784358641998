package mad

import "fmt"

// diags is of the block of the first 64 LIDs.
func (t LinearForwarding) diags() []string {
	var rows []string
	for lid, port := range t {
		rows = append(rows, fmt.Sprintf("%#04x %03d", lid, port))
	}
	return rows
}

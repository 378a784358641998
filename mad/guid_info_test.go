package mad

import "fmt"

func (g GUIDInfo) diags() []string {
	var rows []string
	for i := 0; i < len(g); i += 2 {
		rows = append(rows, fmt.Sprintf("%d: %v %v", i, g[i], g[i+1]))
	}
	return rows
}

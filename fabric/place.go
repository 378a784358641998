package fabric

import "math"

// spot is a Place made small: the number of a file's name and the line.
type spot struct {
	file, line int32
}

// fileNames numbers the names of files; statements of one file come in a row.
type fileNames struct {
	names []string
	known map[string]int32
}

func (n *fileNames) spot(p Place) spot {
	line := int32(min(p.Line, math.MaxInt32))
	if last := len(n.names) - 1; last >= 0 && n.names[last] == p.File {
		return spot{int32(last), line}
	}
	id, ok := n.known[p.File]
	if !ok {
		if n.known == nil {
			n.known = map[string]int32{}
		}
		id = int32(len(n.names))
		n.names = append(n.names, p.File)
		n.known[p.File] = id
	}
	return spot{id, line}
}

func (n *fileNames) place(s spot) Place {
	return Place{File: n.names[s.file], Line: int(s.line)}
}

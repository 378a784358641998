package cli

import (
	"strconv"
	"strings"

	"heddle/cli/picture"
)

// shapeOf tells what the text of a generated fabric says of its form.
func shapeOf(name string) picture.Shape {
	form, rest, _ := strings.Cut(name, ":")
	words := strings.Split(rest, ",")
	var s picture.Shape
	switch form {
	case "torus", "mesh":
		for word := range strings.SplitSeq(words[0], "x") {
			n, err := strconv.Atoi(word)
			if err != nil {
				return picture.Shape{}
			}
			s.Dims = append(s.Dims, n)
		}
	case "dragonfly":
		for _, word := range words {
			if value, ok := strings.CutPrefix(word, "a="); ok {
				s.Block, _ = strconv.Atoi(value)
			}
		}
	}
	return s
}

package opensm

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

// maxLine is the longest line that is read.
const maxLine = 1 << 20

// eachLine gives the lines that are neither empty nor a comment, without space
// around them.
func eachLine(r io.Reader, visit func(number int, line string)) error {
	s := bufio.NewScanner(r)
	s.Buffer(nil, maxLine)
	n := 0
	for s.Scan() {
		n++
		line := strings.TrimSpace(strings.TrimPrefix(s.Text(), "\ufeff"))
		if line != "" && line[0] != '#' {
			visit(n, line)
		}
	}
	if err := s.Err(); err != nil {
		return fmt.Errorf("line %d: %w", n+1, err)
	}
	return nil
}

// shown is a text as a message quotes it.
func shown(text string) string {
	const most = 64
	if len(text) > most {
		return fmt.Sprintf("%q...", text[:most])
	}
	return fmt.Sprintf("%q", text)
}

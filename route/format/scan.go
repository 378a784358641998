package format

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
)

// MaxLine is the length of the longest line that is read, in bytes.
const MaxLine = 1 << 16

// Error tells of a line that cannot be right.
type Error struct {
	Line int // from 1
	Text string
}

func (e *Error) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Text) }

// lines reads a text line by line.
type lines struct {
	scanner *bufio.Scanner
	number  int
}

func newLines(r io.Reader) *lines {
	s := bufio.NewScanner(r)
	s.Buffer(make([]byte, 0, 4096), MaxLine)
	return &lines{scanner: s}
}

// each calls visit with each line, without its end.
func (l *lines) each(visit func(line string) error) error {
	for l.scanner.Scan() {
		l.number++
		if err := visit(strings.TrimSuffix(l.scanner.Text(), "\r")); err != nil {
			return err
		}
	}
	err := l.scanner.Err()
	if errors.Is(err, bufio.ErrTooLong) {
		l.number++
		return l.fault("longer than %d bytes", MaxLine)
	}
	return err
}

// fault is an error in the line that was read last.
func (l *lines) fault(format string, args ...any) error {
	return &Error{l.number, fmt.Sprintf(format, args...)}
}

package pattern

import (
	"bufio"
	"errors"
	"io"
	"strings"
)

// byteOrderMark may stand at the start of a file.
const byteOrderMark = "\ufeff"

// eachLine calls do for the lines of a text, without their ends, numbered
// from 1.
func eachLine(r io.Reader, do func(number int, line string)) error {
	in := bufio.NewReaderSize(r, 1<<16)
	for number := 1; ; number++ {
		line, err := in.ReadString('\n')
		if number == 1 {
			line = strings.TrimPrefix(line, byteOrderMark)
		}
		if line != "" {
			do(number, strings.TrimRight(line, "\r\n"))
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// word is one element of a line.
type word struct {
	text   string
	quoted bool
	// suffix is what follows a closing quote without a separator.
	suffix string
}

var errQuote = errors.New("a closing quote is missing")

// cutWord takes the first word off a line; ok is false where there is none.
func cutWord(line string) (w word, rest string, ok bool, err error) {
	line = strings.TrimLeft(line, separators)
	switch {
	case line == "" || line[0] == '#':
		return word{}, "", false, nil
	case line[0] != '"':
		n := wordEnd(line)
		return word{text: line[:n]}, line[n:], true, nil
	}
	n := quoteEnd(line)
	if n < 0 {
		return word{}, "", false, errQuote
	}
	w = word{text: unescape(line[1:n]), quoted: true}
	rest = line[n+1:]
	n = wordEnd(rest)
	w.suffix = rest[:n]
	return w, rest[n:], true, nil
}

const separators = " \t,\r\v\f"

func wordEnd(s string) int {
	if n := strings.IndexAny(s, separators+"#"); n >= 0 {
		return n
	}
	return len(s)
}

// quoteEnd finds the quote that closes the one at the start of s.
func quoteEnd(s string) int {
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '"':
			return i
		}
	}
	return -1
}

// unescape and quote are inverse: within quotes a backslash stands before a
// quote and a backslash, and \n and \r are line ends.
func unescape(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c == '\\' && i+1 < len(s) {
			i++
			c = escaped(s[i])
		}
		b.WriteByte(c)
	}
	return b.String()
}

func escaped(c byte) byte {
	switch c {
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	default:
		return c
	}
}

func quote(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\r", `\r`).Replace(s) + `"`
}

package console

import (
	"errors"
	"fmt"
	"strings"
)

// Split splits a line at its blanks, with the quoting of a shell: blanks
// in '...' and "..." are part of a word, and so is what follows a backslash,
// except within '...'.
func Split(line string) ([]string, error) {
	var words []string
	for {
		line = strings.TrimLeft(line, " \t\r\n")
		if line == "" {
			return words, nil
		}
		word, rest, err := cutWord(line)
		if err != nil {
			return nil, err
		}
		words, line = append(words, word), rest
	}
}

// cutWord takes the first word off a line that begins with one.
func cutWord(line string) (word, rest string, err error) {
	var b strings.Builder
	for line != "" {
		switch c := line[0]; c {
		case ' ', '\t', '\r', '\n':
			return b.String(), line, nil
		case '\'', '"':
			if line, err = cutQuoted(&b, line[1:], c); err != nil {
				return "", "", err
			}
		case '\\':
			if line, err = cutEscaped(&b, line[1:]); err != nil {
				return "", "", err
			}
		default:
			b.WriteByte(c)
			line = line[1:]
		}
	}
	return b.String(), "", nil
}

// cutQuoted takes off what comes before the end of a quotation, and that end.
func cutQuoted(b *strings.Builder, line string, quote byte) (rest string, err error) {
	for line != "" {
		switch c := line[0]; {
		case c == quote:
			return line[1:], nil
		case c == '\\' && quote == '"':
			if line, err = cutEscaped(b, line[1:]); err != nil {
				return "", err
			}
		default:
			b.WriteByte(c)
			line = line[1:]
		}
	}
	return "", fmt.Errorf("a quotation that begins with %c does not end", quote)
}

func cutEscaped(b *strings.Builder, line string) (rest string, err error) {
	if line == "" {
		return "", errors.New(`the line ends with a backslash; write \\ for one`)
	}
	b.WriteByte(line[0])
	return line[1:], nil
}

// Quote is a word as the console and shells read it: in quotes where it has
// to be.
func Quote(word string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_-+./:,=@%", r)
	}
	if word != "" && strings.IndexFunc(word, func(r rune) bool { return !plain(r) }) < 0 {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

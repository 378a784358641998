package format

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// maxLine bounds a line; the longest that a tool writes has some 700 bytes.
const maxLine = headSize

// lines reads a file line by line in bounded memory.
type lines struct {
	r *bufio.Reader
	// num is the number of the current line, from 1.
	num int
	// text is the current line without its end, and valid until next. It is
	// empty where long is true: the line was longer than maxLine.
	text []byte
	long bool
	// open is true for a last line that nothing ends.
	open bool
	err  error
}

func newLines(r io.Reader) lines { return lines{r: bufio.NewReaderSize(r, maxLine)} }

// next goes to the next line; false at the end of the file and where reading
// failed, which err tells.
func (l *lines) next() bool {
	text, err := l.r.ReadSlice('\n')
	if len(text) == 0 {
		l.fail(err)
		return false
	}
	l.num++
	l.long = errors.Is(err, bufio.ErrBufferFull)
	for errors.Is(err, bufio.ErrBufferFull) {
		text, err = nil, l.skip()
	}
	l.open = err != nil
	l.fail(err)
	if l.num == 1 {
		text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
	}
	l.text = bytes.TrimRight(text, "\r\n")
	return l.err == nil
}

// skip reads on in a line that is too long.
func (l *lines) skip() error {
	_, err := l.r.ReadSlice('\n')
	return err
}

func (l *lines) fail(err error) {
	if err != nil && !errors.Is(err, io.EOF) {
		l.err = err
	}
}

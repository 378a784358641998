package format

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// maxValue bounds one element of a JSON file, such as a node with all of its
// ports.
const maxValue = 16 << 20

// errTooLarge is of an element beyond maxValue.
var errTooLarge = fmt.Errorf("an element of more than %d bytes", maxValue)

// lineCounter passes a file on to a json.Decoder, and tells the lines of
// offsets. It keeps what the decoder has read ahead. Offsets must be asked for
// in ascending order.
type lineCounter struct {
	r   io.Reader
	err error
	// seen[done:] was read and not passed; done is at an offset and a line.
	seen   []byte
	done   int
	offset int64
	line   int
	// lead is how many blanks stand before the value of valueAfter.
	lead int64
	bom  bool // looked for
}

func newLineCounter(r io.Reader) *lineCounter { return &lineCounter{r: r, line: 1} }

func (c *lineCounter) Read(p []byte) (int, error) {
	if len(c.seen)-c.done > maxValue {
		return 0, errTooLarge
	}
	if !c.bom {
		c.bom = true
		return c.first(p)
	}
	n, err := c.r.Read(p[:min(len(p), headSize)])
	c.seen = append(c.seen, p[:n]...)
	if err != nil && !errors.Is(err, io.EOF) {
		c.err = err
	}
	return n, err
}

// first reads the beginning, without a byte order mark.
func (c *lineCounter) first(p []byte) (int, error) {
	head := make([]byte, 3)
	n, err := io.ReadFull(c.r, head)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil
	}
	if err != nil && !errors.Is(err, io.EOF) {
		c.err = err
	}
	head = bytes.TrimPrefix(head[:n], []byte("\xef\xbb\xbf"))
	c.seen = append(c.seen, head...)
	return copy(p, head), err
}

// pass moves done over n bytes of what was seen.
func (c *lineCounter) pass(n int) {
	c.line += bytes.Count(c.seen[c.done:c.done+n], []byte("\n"))
	c.done += n
	c.offset += int64(n)
	if c.done > len(c.seen)/2 {
		c.seen = append(c.seen[:0], c.seen[c.done:]...)
		c.done = 0
	}
}

// lineOf is the line of an offset.
func (c *lineCounter) lineOf(offset int64) int {
	ahead := int64(len(c.seen) - c.done)
	c.pass(int(min(max(offset-c.offset, 0), ahead)))
	return c.line
}

// valueAfter is the line where the value begins that follows an offset.
func (c *lineCounter) valueAfter(offset int64) int {
	c.lineOf(offset)
	c.passBlank()
	if c.done < len(c.seen) && c.seen[c.done] == ',' {
		c.pass(1)
	}
	from := c.offset
	c.passBlank()
	c.lead = c.offset - from
	return c.line
}

// passBlank moves done to what is not blank, if anything was seen.
func (c *lineCounter) passBlank() {
	ahead := c.seen[c.done:]
	if rest := bytes.TrimLeft(ahead, blanks); len(rest) > 0 {
		c.pass(len(ahead) - len(rest))
	}
}

const blanks = " \t\r\n"

// lineWithin is the line of an offset in the value of valueAfter, as the
// decoder counts them: from the comma before it.
func (c *lineCounter) lineWithin(offset int64) int {
	ahead := c.seen[c.done:]
	n := min(max(offset-c.lead, 0), int64(len(ahead)))
	return c.line + bytes.Count(ahead[:n], []byte("\n"))
}

// lastLine is the line at the end of what was read.
func (c *lineCounter) lastLine() int {
	return c.line + bytes.Count(bytes.TrimRight(c.seen[c.done:], blanks), []byte("\n"))
}

// syntaxError finds the line of a fault in the value of valueAfter: the
// decoder's own offsets leave out what lies between values.
func (c *lineCounter) syntaxError(err error) (line int, ok bool) {
	var syntax *json.SyntaxError
	again := json.Unmarshal(c.seen[c.done:], new(json.RawMessage))
	if !errors.As(again, &syntax) || again.Error() != err.Error() {
		return 0, false
	}
	c.lead = 0
	return c.lineWithin(syntax.Offset), true
}

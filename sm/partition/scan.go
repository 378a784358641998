package partition

import "strings"

// place is a position in a file.
type place struct{ line, column int }

// item is a word with its value, between two commas: "mtu=4096".
type item struct {
	at    place
	name  string
	value string
	has   bool  // there is a =
	where place // of the value, or of the name
}

// The ends of a list of items beside the bytes that stand there themselves.
const (
	newline   = '\n'
	endOfFile = byte(0)
)

// scanner cuts a text into items. Comments, carriage returns and a byte order
// mark are gone.
type scanner struct {
	text string
	next int
	at   place
}

func newScanner(text string) *scanner {
	return &scanner{text: strings.TrimPrefix(text, "\ufeff"), at: place{1, 1}}
}

// peek is the next byte, with what is comment left out.
func (s *scanner) peek() byte {
	if s.next < len(s.text) && s.text[s.next] == '#' {
		for s.next < len(s.text) && s.text[s.next] != newline {
			s.skip()
		}
	}
	switch {
	case s.next >= len(s.text):
		return endOfFile
	case s.text[s.next] == endOfFile:
		return ' '
	default:
		return s.text[s.next]
	}
}

func (s *scanner) skip() {
	if s.text[s.next] == newline {
		s.at = place{s.at.line + 1, 0}
	}
	s.at.column++
	s.next++
}

// blank passes over space, and over ends of lines where they do not matter.
func (s *scanner) blank(lines bool) {
	for isSpace(s.peek()) || lines && s.peek() == newline {
		s.skip()
	}
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f' }

// word reads up to one of the stops or the end of the file, without the space
// around it. Where ends of lines do not stop it they are as space.
func (s *scanner) word(stops string) string {
	var b strings.Builder
	for c := s.peek(); c != endOfFile && strings.IndexByte(stops, c) < 0; c = s.peek() {
		if c == newline {
			c = ' '
		}
		b.WriteByte(c)
		s.skip()
	}
	return strings.TrimSpace(b.String())
}

// items reads items up to one of the ends, which it takes and returns. Ends of
// lines count only where they are among the ends, or a group has begun. An item
// before a comma may be empty.
func (s *scanner) items(ends string) (list []item, end byte) {
	lines := strings.IndexByte(ends, newline) < 0
	for {
		s.blank(lines)
		it := item{at: s.at, where: s.at}
		stops := ends + ","
		it.name = s.word(stops + "=")
		if s.peek() == '=' {
			s.skip()
			if isGroup(it) { // whose address has colons
				stops, lines, ends = "\n;,", false, "\n;"
			}
			s.blank(!isGroup(it))
			it.where, it.has = s.at, true
			it.value = s.word(stops)
		}
		end = s.peek()
		if it.name != "" || it.has || end == ',' {
			list = append(list, it)
		}
		if end == endOfFile {
			return list, end
		}
		s.skip()
		if end != ',' {
			return list, end
		}
	}
}

// isGroup tells whether an item begins a multicast group, which goes on to the
// end of its line.
func isGroup(it item) bool { return strings.EqualFold(it.name, "mgid") }

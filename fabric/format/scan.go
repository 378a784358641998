package format

import (
	"bytes"
	"math"
	"strconv"

	"heddle/ib"
)

// scan takes a line apart from its left. Its methods leave what they did not
// find.
type scan struct{ rest []byte }

// space skips blanks and tabs.
func (s *scan) space() { s.rest = bytes.TrimLeft(s.rest, " \t") }

// take skips text if it is next.
func (s *scan) take(text string) bool {
	rest, ok := bytes.CutPrefix(s.rest, []byte(text))
	s.rest = rest
	return ok
}

// number takes decimal digits; what is more than an int32 becomes the largest.
func (s *scan) number() (n int, ok bool) {
	i := 0
	for i < len(s.rest) && '0' <= s.rest[i] && s.rest[i] <= '9' {
		n = min(n*10+int(s.rest[i]-'0'), math.MaxInt32)
		i++
	}
	s.rest = s.rest[i:]
	return n, i > 0
}

// until takes what stands before the next c, and c.
func (s *scan) until(c byte) (text []byte, ok bool) {
	i := bytes.IndexByte(s.rest, c)
	if i < 0 {
		return nil, false
	}
	text, s.rest = s.rest[:i], s.rest[i+1:]
	return text, true
}

// between takes text that stands between two bytes.
func (s *scan) between(first, last byte) (text []byte, ok bool) {
	if len(s.rest) == 0 || s.rest[0] != first {
		return nil, false
	}
	all := s.rest
	s.rest = s.rest[1:]
	if text, ok = s.until(last); !ok {
		s.rest = all
	}
	return text, ok
}

// word takes what stands before the next blank.
func (s *scan) word() []byte {
	s.space()
	i := bytes.IndexAny(s.rest, " \t")
	if i < 0 {
		i = len(s.rest)
	}
	word := s.rest[:i]
	s.rest = s.rest[i:]
	return word
}

// letters takes the ASCII letters that are next.
func (s *scan) letters() []byte {
	i := 0
	for i < len(s.rest) && isLetter(s.rest[i]) {
		i++
	}
	word := s.rest[:i]
	s.rest = s.rest[i:]
	return word
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// integer reads a whole number, decimal or hexadecimal with 0x, which may be
// negative.
func integer(text []byte) (int64, bool) {
	digits, base := string(text), 10
	if len(digits) > 2 && digits[0] == '0' && digits[1]|0x20 == 'x' {
		digits, base = digits[2:], 16
	}
	v, err := strconv.ParseInt(digits, base, 64)
	return v, err == nil
}

// parseGUID reads a GUID; zero is none.
func parseGUID(text []byte) (ib.GUID, bool) {
	g, err := ib.ParseGUID(string(text))
	return g, err == nil && g.IsValid()
}

// parseLID reads a unicast LID.
func parseLID(text []byte) (ib.LID, bool) {
	v, ok := integer(text)
	if !ok || v < 0 || v > math.MaxUint16 || !ib.LID(v).IsUnicast() {
		return 0, false
	}
	return ib.LID(v), true
}

// parseRate reads a width and a speed as ibnetdiscover writes them: 4xHDR, with
// ?? for a width and ??? for a speed that it does not know.
func parseRate(text []byte) (rate ib.LinkRate, ok bool) {
	s := scan{text}
	if !s.take("??") {
		width, found := s.until('x')
		if !found {
			return ib.LinkRate{}, false
		}
		w, err := ib.ParseWidth(string(width))
		if err != nil {
			return ib.LinkRate{}, false
		}
		rate.Width = w
	}
	if s.take("???") {
		return rate, true
	}
	i := 0
	for i < len(s.rest) && (isLetter(s.rest[i]) || isDigit(s.rest[i])) {
		i++
	}
	speed, err := ib.ParseSpeed(string(s.rest[:i]))
	rate.Speed = speed
	return rate, err == nil
}

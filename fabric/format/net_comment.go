package format

import (
	"bytes"

	"heddle/ib"
)

// comment is what stands behind the # of a header or a port line:
//
//	# "leaf 1" enhanced port 0 lid 3 lmc 0               a switch
//	# "node1 HCA-1" lid 4 4xHDR                          a switch's port
//	# lid 4 lmc 0 "leaf 1" lid 3 4xHDR                   an adapter's port
type comment struct {
	any bool
	// own is what stands before the name, peer what stands behind it.
	own, peer facts
	name      []byte
	named     bool
	// open is true where no quote ends the name.
	open bool
}

// facts are the words around a name.
type facts struct {
	enhanced bool
	hasLID   bool   // the word lid is there,
	lid, lmc []byte // and what follows it
	rate     []byte
	masks    rateMasks
}

// parseComment takes what follows an ID or a port number: options of ibsim and
// the comment. The name is opaque: it ends at the last quote, as nothing that
// follows it holds one.
func parseComment(text []byte) comment {
	options, rest, ok := bytes.Cut(text, []byte("#"))
	c := comment{any: ok}
	if ok {
		c.split(rest)
	}
	c.peer.masks.merge(parseFacts(options).masks)
	return c
}

func (c *comment) split(text []byte) {
	first, last := bytes.IndexByte(text, '"'), bytes.LastIndexByte(text, '"')
	switch {
	case first < 0:
		c.unquoted(text)
		return
	case first == last:
		c.open = true
		c.own = parseFacts(text[:first])
		c.name, text = cutName(text[first+1:])
	default:
		c.own = parseFacts(text[:first])
		c.name, text = text[first+1:last], text[last+1:]
	}
	c.named = true
	c.peer = parseFacts(text)
}

// unquoted takes a comment without quotes: facts of the port itself, of its
// peer, or a name and facts.
func (c *comment) unquoted(text []byte) {
	name, rest := cutName(bytes.TrimLeft(text, " \t"))
	if c.named = len(name) > 0; c.named {
		c.name = name
	}
	second := bytes.LastIndex(rest, []byte(" lid "))
	if !bytes.HasPrefix(rest, []byte("lid ")) {
		second = 0
	}
	c.own, c.peer = parseFacts(rest[:max(second, 0)]), parseFacts(rest[max(second, 0):])
}

// cutName ends a name that no quote ends: before the first words that can
// follow it.
func cutName(text []byte) (name, rest []byte) {
	end := len(text)
	for _, word := range [...]string{" enhanced port ", " base port ", " lid ", " lmc "} {
		if i := bytes.LastIndex(text, []byte(word)); i >= 0 {
			end = min(end, i)
		}
		if bytes.HasPrefix(text, []byte(word[1:])) {
			end = 0
		}
	}
	return bytes.TrimRight(text[:end], " \t"), text[end:]
}

// parseFacts takes words in any order and skips those that it does not know,
// such as the slot of a chassis.
func parseFacts(text []byte) (f facts) {
	s := scan{text}
	for {
		word := s.word()
		switch {
		case len(word) == 0:
			return f
		case string(word) == "enhanced":
			f.enhanced = true
		case string(word) == "lid":
			f.hasLID, f.lid = true, s.value()
		case string(word) == "lmc":
			f.lmc = s.value()
		case len(word) > 2 && word[1] == '=':
			f.masks.set(word[0], word[2:])
		case f.rate == nil && looksLikeRate(word):
			f.rate = word
		}
	}
}

// value takes the next word if it begins like a number.
func (s *scan) value() []byte {
	s.space()
	if len(s.rest) > 0 && (isDigit(s.rest[0]) || s.rest[0] == '-') {
		return s.word()
	}
	return nil
}

func looksLikeRate(word []byte) bool {
	s := scan{word}
	if s.take("??") {
		return true
	}
	_, digits := s.number()
	return digits && s.take("x")
}

// rateMasks are ibsim's options of a port: w, s and e are sets of the widths,
// speeds and extended speeds that it may take, coded as in PortInfo.
type rateMasks struct{ width, speed, extended uint32 }

func (m *rateMasks) set(option byte, text []byte) bool {
	v, ok := parseUint32(text)
	switch option {
	case 'w':
		m.width = v
	case 's':
		m.speed = v
	case 'e':
		m.extended = v
	}
	return ok
}

// merge takes what is not set from other.
func (m *rateMasks) merge(other rateMasks) {
	if m.width == 0 {
		m.width = other.width
	}
	if m.speed == 0 && m.extended == 0 {
		m.speed, m.extended = other.speed, other.extended
	}
}

// rate is the best that the masks allow.
func (m rateMasks) rate() (r ib.LinkRate) {
	for w := ib.Width1x; w <= ib.Width12x; w++ {
		if m.width&uint32(w.Code()) != 0 {
			r.Width = w
		}
	}
	for bit, speed := range [...]ib.Speed{ib.SDR, ib.DDR, ib.QDR} {
		if m.speed>>bit&1 != 0 {
			r.Speed = speed
		}
	}
	for bit, speed := range [...]ib.Speed{ib.FDR, ib.EDR, ib.HDR, ib.NDR, 0, ib.XDR} {
		if m.extended>>bit&1 != 0 {
			r.Speed = max(r.Speed, speed)
		}
	}
	return r
}

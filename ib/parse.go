package ib

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// The two ways in which text fails to be a value. Every error of a ParseX
// function wraps one of them.
var (
	// ErrSyntax means that the text does not have the form of the type.
	ErrSyntax = errors.New("malformed")
	// ErrRange means that the text has the form of the type, but names a value
	// that the type does not have.
	ErrRange = errors.New("out of range")
)

// ParseError says which text could not be read as which type, and why.
type ParseError struct {
	Type string // the type's name in prose, such as "LID"
	Text string // the whole text given
	Want string // what would be accepted
	Err  error  // ErrSyntax or ErrRange
}

// Error quotes at most the first 64 bytes of the text.
func (e *ParseError) Error() string {
	text, more := e.Text, ""
	if len(text) > maxQuoted {
		text, more = text[:maxQuoted], "..."
	}
	return fmt.Sprintf("%s %q%s is %v: want %s", e.Type, text, more, e.Err, e.Want)
}

// Unwrap gives ErrSyntax or ErrRange.
func (e *ParseError) Unwrap() error { return e.Err }

// maxQuoted keeps the error for a line of a damaged file readable.
const maxQuoted = 64

// form is the textual form of a type, as errors tell it.
type form struct {
	name string // ParseError.Type
	want string // ParseError.Want
}

func (f form) malformed(s string) error {
	return &ParseError{Type: f.name, Text: s, Want: f.want, Err: ErrSyntax}
}

func (f form) outOfRange(s string) error {
	return &ParseError{Type: f.name, Text: s, Want: f.want, Err: ErrRange}
}

// numeral is the form of a type whose text is one unsigned number. The bounds
// fit into 32 bits.
type numeral struct {
	form
	min, max uint64
}

// parse reads decimal digits, or hexadecimal digits after 0x. It knows no
// octal: files pad decimal LIDs with zeros. All digits are looked at, since a
// long number with a bad one is malformed and not out of range, which is what
// strconv calls it.
func (n numeral) parse(s string) (uint64, error) {
	digits, base := s, uint64(10)
	if rest, ok := cutHexPrefix(s); ok {
		digits, base = rest, 16
	}
	if isNegative(s) {
		return 0, n.outOfRange(s)
	}
	var v uint64
	for i := range len(digits) {
		d := digit(digits[i])
		if d >= base {
			return 0, n.malformed(s)
		}
		v = min(v*base+d, n.max+1) // stays above n.max once it is
	}
	switch {
	case digits == "":
		return 0, n.malformed(s)
	case v < n.min || v > n.max:
		return 0, n.outOfRange(s)
	}
	return v, nil
}

// digit gives the value of a hexadecimal digit, and 16 for any other byte.
func digit(c byte) uint64 {
	switch {
	case '0' <= c && c <= '9':
		return uint64(c - '0')
	case 'a' <= c && c <= 'f':
		return uint64(c-'a') + 10
	case 'A' <= c && c <= 'F':
		return uint64(c-'A') + 10
	}
	return 16
}

// isNegative tells whether s is a negative whole number, which is a number
// out of range and not bad syntax.
func isNegative(s string) bool {
	digits, ok := strings.CutPrefix(s, "-")
	return ok && isDigits(digits)
}

func isDigits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}

func cutHexPrefix(s string) (rest string, ok bool) {
	if len(s) >= 2 && s[0] == '0' && (s[1] == 'x' || s[1] == 'X') {
		return s[2:], true
	}
	return s, false
}

// parseDecimal reads a plain decimal number such as 14.0625: no sign, no
// exponent, no words.
func parseDecimal(s string) (float64, bool) {
	whole, frac, point := strings.Cut(s, ".")
	if !isDigits(whole) || (point && !isDigits(frac)) {
		return 0, false
	}
	v, err := strconv.ParseFloat(s, 64)
	return v, err == nil
}

// cutGbps removes a unit of gigabits per second, however it is written.
func cutGbps(s string) (number string, ok bool) {
	for _, unit := range [...]string{"gbps", "gb/s", "gbit/s", "g"} {
		if n := len(s) - len(unit); n >= 0 && strings.EqualFold(s[n:], unit) {
			return strings.TrimSuffix(s[:n], " "), true
		}
	}
	return s, false
}

const hexDigits = "0123456789abcdef"

// appendHex appends 0x and v with at least the given number of digits.
func appendHex(b []byte, v uint64, digits int) []byte {
	b = append(b, '0', 'x')
	for shift := 4 * (digits - 1); shift >= 0; shift -= 4 {
		b = append(b, hexDigits[v>>shift&0xf])
	}
	return b
}

// marshalText gives the text of v, the empty text for an invalid zero, and an
// error for any other value that could not be read back.
func marshalText[T interface {
	comparable
	fmt.Stringer
	IsValid() bool
}](v T) ([]byte, error) {
	var zero T
	switch {
	case v.IsValid():
		return []byte(v.String()), nil
	case v == zero:
		return []byte{}, nil
	}
	return nil, fmt.Errorf("%T %v has no text form: %w", v, v, ErrRange)
}

// unmarshalText is the inverse of marshalText. The destination is untouched
// after an error.
func unmarshalText[T any](dst *T, text []byte, parse func(string) (T, error)) error {
	var v T
	if len(text) > 0 {
		var err error
		if v, err = parse(string(text)); err != nil {
			return err
		}
	}
	*dst = v
	return nil
}

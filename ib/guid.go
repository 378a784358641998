package ib

import (
	"strconv"
	"strings"
)

// GUID is an EUI-64 that names a node, a port or a system image, for good and
// all over the world. Zero is invalid.
type GUID uint64

var guidForm = form{"GUID", "1 to 16 hexadecimal digits, with or without 0x, or 16 in equal groups split by : or -"}

// ParseGUID reads 1 to 16 hexadecimal digits, with or without 0x, or exactly
// 16 digits in groups of 2, 4 or 8, all split by ':' or all by '-', such as
// 0002:c903:0000:1234. Zero is read, since files use it for "none"; IsValid
// tells.
func ParseGUID(s string) (GUID, error) {
	digits, prefixed := cutHexPrefix(s)
	if !prefixed {
		digits = joinGroups(digits)
	}
	v, err := strconv.ParseUint(digits, 16, 64)
	if err != nil || len(digits) > 16 {
		return 0, guidForm.malformed(s)
	}
	return GUID(v), nil
}

// MustParseGUID is ParseGUID for literals: it panics where s is malformed.
func MustParseGUID(s string) GUID { return must(ParseGUID(s)) }

// must panics for the MustParse functions, whose callers pass literals.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// joinGroups takes the separators out of a grouped GUID. Text of any other
// form is given back as it is.
func joinGroups(s string) string {
	const longest = 16 + 7 // eight groups of two
	at := strings.IndexAny(s, ":-")
	if len(s) > longest || at != 2 && at != 4 && at != 8 {
		return s
	}
	groups := strings.Split(s, s[at:at+1])
	if len(groups)*at != 16 {
		return s
	}
	for _, g := range groups {
		if len(g) != at {
			return s
		}
	}
	return strings.Join(groups, "")
}

// IsValid tells whether g is not zero.
func (g GUID) IsValid() bool { return g != 0 }

// String gives 0x and 16 digits: 0x0002c90300001234.
func (g GUID) String() string { return string(g.AppendTo(make([]byte, 0, 18))) }

// AppendTo appends the form of String to b.
func (g GUID) AppendTo(b []byte) []byte { return appendHex(b, uint64(g), 16) }

// MarshalText gives the form of String, for every value.
func (g GUID) MarshalText() ([]byte, error) { return g.AppendTo(nil), nil }

// UnmarshalText reads what ParseGUID reads; the empty text is zero.
func (g *GUID) UnmarshalText(text []byte) error { return unmarshalText(g, text, ParseGUID) }

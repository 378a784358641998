// Package spec reads the short texts that name a generated fabric or a
// communication pattern:
//
//	NAME
//	NAME:VALUE,KEY=VALUE,...
//	NAME:KEY=VALUE,KEY=VALUE,...
//
// A value that holds a comma, or a first value that holds "=", is put in double
// quotes. Each key stands at most once; a key that nobody asked for is an
// error.
//
// The caller of [Read] takes one value after the other from the [Args], all of
// them with their bounds, and asks once at the end, with [Args.Close], whether
// all was well.
package spec

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Args are the values of one text. The first fault is kept and told by Close;
// after it all getters give values within their bounds.
type Args struct {
	text, name string
	args       []arg
	err        error
}

// arg is one element; the key of the leading VALUE is "".
type arg struct {
	key, value string
	used       bool
}

// Name is the part of a text before its first colon.
func Name(text string) string {
	name, _, _ := strings.Cut(text, ":")
	return name
}

// Read splits a text.
func Read(text string) *Args {
	name, rest, more := strings.Cut(text, ":")
	a := &Args{text: text, name: name}
	for i := 0; more && a.err == nil; i++ {
		var element string
		element, rest, more = cutElement(rest)
		a.add(element, i == 0)
	}
	return a
}

// cutElement splits behind the first comma outside of quotes.
func cutElement(s string) (element, rest string, more bool) {
	quoted := false
	for i := range len(s) {
		switch {
		case s[i] == '"':
			quoted = !quoted
		case s[i] == ',' && !quoted:
			return s[:i], s[i+1:], true
		}
	}
	return s, "", false
}

// maxElements is more than anything asks for.
const maxElements = 64

func (a *Args) add(element string, first bool) {
	key, value, keyed := strings.Cut(element, "=")
	if !keyed || strings.HasPrefix(element, `"`) {
		key, value = "", element
	}
	switch {
	case element == "" || keyed && key == "" && !strings.HasPrefix(element, `"`):
		a.failf("an element is empty: want KEY=VALUE")
	case key == "" && !first:
		a.failf("%q has no key: want KEY=VALUE", clip(element))
	case len(a.args) == maxElements:
		a.failf("more than %d elements", maxElements)
	case a.find(key) != nil:
		a.failf("%s is given twice", clip(key))
	default:
		a.args = append(a.args, arg{key: key, value: unquote(value)})
	}
}

func unquote(s string) string {
	if len(s) >= 2 && s[0] == '"' && s[len(s)-1] == '"' {
		return s[1 : len(s)-1]
	}
	return s
}

func (a *Args) find(key string) *arg {
	for i := range a.args {
		if a.args[i].key == key {
			return &a.args[i]
		}
	}
	return nil
}

// Name is the text's name.
func (a *Args) Name() string { return a.name }

// Text gives the value of a key, the leading one for "", and whether there is
// one.
func (a *Args) Text(key string) (value string, ok bool) {
	found := a.find(key)
	if found == nil {
		return "", false
	}
	found.used = true
	return found.value, true
}

// Word gives one of a few words, the first of them where the key is not given.
func (a *Args) Word(key string, words ...string) string {
	value, ok := a.Text(key)
	if !ok {
		return words[0]
	}
	for _, w := range words {
		if value == w {
			return w
		}
	}
	a.Failf(key, "want %s", strings.Join(words, " or "))
	return words[0]
}

// Int gives a whole number from lo to hi, def where the key is not given.
func (a *Args) Int(key string, def, lo, hi int) int {
	value, ok := a.Text(key)
	if !ok {
		return def
	}
	n, err := strconv.Atoi(value)
	if err != nil || n < lo || n > hi {
		a.Failf(key, "want a whole number from %d to %d", lo, hi)
		return lo
	}
	return n
}

// Need is Int for a key that must be given.
func (a *Args) Need(key string, lo, hi int) int {
	if a.find(key) == nil {
		a.failf("%s is missing: want a whole number from %d to %d", key, lo, hi)
		return lo
	}
	return a.Int(key, lo, lo, hi)
}

// Seed gives a number of 64 bits, def where the key is not given.
func (a *Args) Seed(key string, def uint64) uint64 {
	value, ok := a.Text(key)
	if !ok {
		return def
	}
	n, err := strconv.ParseUint(value, 10, 64)
	if err != nil {
		a.Failf(key, "want a whole number from 0 to %d", uint64(math.MaxUint64))
	}
	return n
}

// Share gives a number from 0 to 1, 0 where the key is not given.
func (a *Args) Share(key string) float64 {
	value, ok := a.Text(key)
	if !ok {
		return 0
	}
	x, err := strconv.ParseFloat(value, 64)
	if err != nil || !(x >= 0 && x <= 1) {
		a.Failf(key, "want a number from 0 to 1")
		return 0
	}
	return x
}

// Sizes gives the numbers of a value such as 30x20x20: one to most numbers,
// each from lo to hi. A value that is missing is a fault, and gives one lo.
func (a *Args) Sizes(key string, most, lo, hi int) []int {
	value, ok := a.Text(key)
	words := strings.Split(value, "x")
	if !ok || len(words) > most {
		a.Failf(key, "want 1 to %d sizes such as 30x20", most)
		return []int{lo}
	}
	sizes := make([]int, len(words))
	for i, w := range words {
		n, err := strconv.Atoi(w)
		if err != nil || n < lo || n > hi {
			a.Failf(key, "size %d is %q: want a whole number from %d to %d", i+1, clip(w), lo, hi)
			return []int{lo}
		}
		sizes[i] = n
	}
	return sizes
}

// Failf keeps a fault of a key's value, unless there was one before.
func (a *Args) Failf(key, format string, v ...any) {
	text := fmt.Sprintf(format, v...)
	if found := a.find(key); found != nil {
		text = fmt.Sprintf("%s is %q: %s", keyName(key), clip(found.value), text)
	} else {
		text = fmt.Sprintf("%s is missing: %s", keyName(key), text)
	}
	a.failf("%s", text)
}

func keyName(key string) string {
	if key == "" {
		return "the first value"
	}
	return key
}

func (a *Args) failf(format string, v ...any) {
	if a.err == nil {
		a.err = fmt.Errorf("%q: "+format, append([]any{clip(a.text)}, v...)...)
	}
}

// Close tells the first fault; a key that was not taken is one.
func (a *Args) Close() error {
	for _, x := range a.args {
		switch {
		case x.used:
		case x.key == "":
			a.failf("%q has no key: want KEY=VALUE", clip(x.value))
		default:
			a.failf("%s does not know the key %s", clip(a.name), clip(x.key))
		}
	}
	return a.err
}

// clip keeps messages about damaged text readable.
func clip(s string) string {
	const most = 60
	if len(s) > most {
		return s[:most] + "..."
	}
	return s
}

// Product multiplies sizes and stops at the largest int.
func Product(sizes ...int) int {
	p := 1
	for _, n := range sizes {
		if n != 0 && p > math.MaxInt/n {
			return math.MaxInt
		}
		p *= n
	}
	return p
}

package pattern

import (
	"fmt"

	"heddle/fabric"
	"heddle/fabric/internal/spec"
)

// kind is a pattern.
type kind struct {
	name  string
	usage string
	parse func(*spec.Args) shape
}

// shape is a pattern with all of its numbers.
type shape interface {
	generate(f *fabric.Fabric) ([]fabric.Group, error)
}

// kinds is the registry: a pattern is one file and one line.
func kinds() []kind {
	return []kind{gridKind, randomKind, hierarchyKind, fileKind}
}

func lookup(name string) (kind, bool) {
	for _, k := range kinds() {
		if k.name == name {
			return k, true
		}
	}
	return kind{}, false
}

// Names lists the patterns.
func Names() []string {
	var names []string
	for _, k := range kinds() {
		names = append(names, k.name)
	}
	return names
}

// Usage explains a pattern: its text and what its keys mean; "" for a name that
// is none.
func Usage(name string) string {
	k, _ := lookup(name)
	return k.usage
}

// Is tells whether a text names a pattern, and so is not the name of a file.
func Is(text string) bool {
	_, ok := lookup(spec.Name(text))
	return ok
}

// Spec is a text that was read: a pattern that can be laid on any fabric.
type Spec struct {
	text  string
	shape shape
}

// Parse reads a text such as grid:81x27x12. It opens no file. An error names
// the key at fault.
func Parse(text string) (Spec, error) {
	a := spec.Read(text)
	k, ok := lookup(a.Name())
	if !ok {
		return Spec{}, fmt.Errorf("pattern %q is not known: want one of %v", spec.Name(text), Names())
	}
	s := Spec{text: text, shape: k.parse(a)}
	if err := a.Close(); err != nil {
		return Spec{}, fmt.Errorf("pattern %w", err)
	}
	return s, nil
}

// String is the text that was read.
func (s Spec) String() string { return s.text }

// Generate makes the groups on a fabric. The members of all groups share one
// array; a group's slice has no room to grow into the next.
func (s Spec) Generate(f *fabric.Fabric) ([]fabric.Group, error) {
	groups, err := s.shape.generate(f)
	if err != nil {
		return nil, fmt.Errorf("pattern %q: %w", s.text, err)
	}
	return groups, nil
}

// Generate parses a text and makes its groups.
func Generate(f *fabric.Fabric, text string) ([]fabric.Group, error) {
	s, err := Parse(text)
	if err != nil {
		return nil, err
	}
	return s.Generate(f)
}

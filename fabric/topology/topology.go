package topology

import (
	"fmt"

	"heddle/fabric"
	"heddle/fabric/internal/spec"
	"heddle/ib"
)

// kind is a form of fabric that can be generated.
type kind struct {
	name  string
	usage string
	parse func(*spec.Args) shape
}

// shape is a form with all of its numbers. Its methods are called only when
// the numbers were without fault.
type shape interface {
	// size tells what wire would make, without making it.
	size() size
	wire(*wiring)
}

// kinds is the registry: a form is one file and one line.
func kinds() []kind {
	return []kind{
		fatTreeKind, trimmedKind, blueLightKind, taihuLightKind,
		torusKind, meshKind, hypercubeKind, ringKind, dragonflyKind,
		randomKind, singleKind,
	}
}

func lookup(name string) (kind, bool) {
	for _, k := range kinds() {
		if k.name == name {
			return k, true
		}
	}
	return kind{}, false
}

// Names lists the forms.
func Names() []string {
	var names []string
	for _, k := range kinds() {
		names = append(names, k.name)
	}
	return names
}

// Usage explains a form: its text and what its keys mean; "" for a name that
// is none.
func Usage(name string) string {
	k, _ := lookup(name)
	return k.usage
}

// Is tells whether a text names a form, and so is not the name of a file.
func Is(text string) bool {
	_, ok := lookup(spec.Name(text))
	return ok
}

// Spec is a text that was read: a fabric that can be built.
type Spec struct {
	text  string
	shape shape
	options
}

// options are what all forms take.
type options struct {
	rate ib.LinkRate
	mcap int32
	lost float64
	seed uint64
}

// Parse reads a text such as fat-tree:k=40. An error names the key at fault;
// a fabric that is too large is an error too.
func Parse(text string) (Spec, error) {
	a := spec.Read(text)
	k, ok := lookup(a.Name())
	if !ok {
		return Spec{}, fmt.Errorf("topology %q is not known: want one of %v", spec.Name(text), Names())
	}
	s := Spec{text: text, options: parseOptions(a)}
	s.shape = k.parse(a)
	if err := a.Close(); err != nil {
		return Spec{}, fmt.Errorf("topology %w", err)
	}
	if err := s.shape.size().check(); err != nil {
		return Spec{}, fmt.Errorf("topology %q: %w", text, err)
	}
	return s, nil
}

func parseOptions(a *spec.Args) options {
	o := options{rate: ib.LinkRate{Width: ib.Width4x, Speed: ib.HDR}}
	if text, ok := a.Text("rate"); ok {
		rate, err := ib.ParseLinkRate(text)
		if err != nil {
			a.Failf("rate", "%v", err)
		}
		o.rate = rate
	}
	o.mcap = int32(a.Int("mcap", fabric.CapUnknown, 0, 1<<16-1))
	o.lost, o.seed = a.Share("lost"), a.Seed("seed", 1)
	return o
}

// String is the text that was read.
func (s Spec) String() string { return s.text }

// Build makes the fabric, and tells the faults that fabric.Builder finds in
// it: islands where many cables were lost, switches with more ports than
// InfiniBand can number.
func (s Spec) Build() (*fabric.Fabric, []fabric.Fault) {
	w := newWiring(s.shape.size())
	s.shape.wire(w)
	w.lose(s.lost, s.seed)
	return w.build(s.options)
}

// Generate parses a text and builds its fabric. A fabric that cannot be
// routed, because the cables lost cut it in pieces, is an error.
func Generate(text string) (*fabric.Fabric, error) {
	s, err := Parse(text)
	if err != nil {
		return nil, err
	}
	f, faults := s.Build()
	if bad := fabric.Errors(faults); len(bad) > 0 {
		return nil, fmt.Errorf("topology %q: %v", text, bad[0])
	}
	return f, nil
}

package partition

import (
	"cmp"
	"fmt"
	"slices"

	"heddle/ib"
)

// builder gathers partitions.
type builder struct {
	o      Options
	byBase map[uint16]*partition
	asked  map[uint16][]wish // by partition
	rules  int
	free   uint16 // below which no P_Key is
	faults []Fault
}

func newBuilder(o Options) *builder {
	b := &builder{o: o, byBase: map[uint16]*partition{}, asked: map[uint16][]wish{}, free: 1}
	all := b.partition(DefaultBase, "Default")
	b.rule(all, subject{word: wordAll}, limited)
	return b
}

// fallBack is what holds without any definition.
func (b *builder) fallBack() {
	all := b.byBase[DefaultBase]
	b.rule(all, subject{word: wordAll}, full)
	b.asked[DefaultBase] = append(b.asked[DefaultBase], wish{})
}

func (b *builder) report(at place, format string, args ...any) {
	b.faults = append(b.faults, Fault{b.o.Name, at.line, at.column, fmt.Sprintf(format, args...)})
}

func (b *builder) partition(base uint16, name string) *partition {
	p := b.byBase[base]
	if p == nil {
		p = &partition{Partition: Partition{Name: name, Base: base}, rules: map[subject]rule{}}
		b.byBase[base] = p
	}
	return p
}

func (b *builder) rule(p *partition, s subject, m membership) {
	b.rules++
	p.rules[s] = rule{b.rules, m}
}

// config puts together what was gathered.
func (b *builder) config() *Config {
	c := &Config{both: b.o.AllowBoth}
	for _, p := range b.byBase {
		c.list = append(c.list, p)
	}
	slices.SortFunc(c.list, func(x, y *partition) int { return cmp.Compare(x.Base, y.Base) })
	b.warnIndex0(c.list)
	g := grouper{builder: b, made: map[ib.MGID]Group{}}
	for _, p := range c.list {
		g.partition(p.Base)
	}
	c.groups = g.list
	slices.SortStableFunc(b.faults, func(x, y Fault) int {
		return cmp.Or(cmp.Compare(x.Line, y.Line), cmp.Compare(x.Column, y.Column))
	})
	return c
}

// warnIndex0 tells of partitions that cannot be at the first index, as another
// is.
func (b *builder) warnIndex0(list []*partition) {
	var last *partition
	for _, p := range slices.Backward(list) {
		switch {
		case !p.Index0:
		case last == nil:
			last = p
		default:
			b.report(p.index0At, "partition %#04x wants index 0 as well as %#04x, which has it where a port is in both", p.Base, last.Base)
		}
	}
}

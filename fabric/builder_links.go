package fabric

import (
	"cmp"
	"fmt"

	"heddle/ib"
)

// layLinks turns the ends' words into links. A cable that both ends state
// alike becomes one link. Where they contradict each other, a pair of ends that
// agree wins over any statement of one end alone.
func (b *Builder) layLinks(f *Fabric) {
	said := b.firstWords(f)
	for i := range b.cables {
		if c := &b.cables[i]; said[f.slot(c.from)] == int32(i+1) && b.agreed(f, c, said) {
			b.link(f, c, said)
		}
	}
	for i := range b.cables {
		if c := &b.cables[i]; said[f.slot(c.from)] == int32(i+1) && !b.agreed(f, c, said) {
			b.oneSided(f, c, said)
		}
	}
}

// firstWords gives for each port the number, from 1, of the first statement
// about it, and reports those that follow. Cables of unusable ports are taken
// out of the list.
func (b *Builder) firstWords(f *Fabric) []int32 {
	said := make([]int32, len(f.ports))
	kept := b.cables[:0]
	for _, c := range b.cables {
		if !b.usable(c) {
			continue
		}
		if old := said[f.slot(c.from)]; old != 0 {
			b.repeated(&kept[old-1], c)
			continue
		}
		kept = append(kept, c)
		said[f.slot(c.from)] = int32(len(kept))
	}
	b.cables = kept
	for i, c := range kept {
		if s := f.slot(c.to); c.both && said[s] == 0 {
			said[s] = int32(i + 1)
		}
	}
	return said
}

func (b *Builder) usable(c cable) bool {
	for _, e := range [2]End{c.from, c.to} {
		if !b.inRange(e, b.files.place(c.at)) {
			return false
		}
		if e.Port == 0 {
			b.Report(Fault{
				Kind: FaultPortRange, Severity: Warning, At: b.files.place(c.at),
				Text: fmt.Sprintf("port 0 of %s cannot have a cable", b.nodes[e.Node].Label()),
			})
			return false
		}
	}
	if c.from != c.to {
		return true
	}
	b.Report(Fault{
		Kind: FaultPortConflict, Severity: Warning, At: b.files.place(c.at),
		Text: fmt.Sprintf("%s is cabled to itself", b.endLabel(c.from)),
	})
	return false
}

// repeated is for a statement about an end that spoke before. The same words
// do no harm; they may speak for the other end too.
func (b *Builder) repeated(first *cable, c cable) {
	if first.to == c.to {
		first.both = first.both || c.both
		return
	}
	b.Report(Fault{
		Kind: FaultPortConflict, Severity: Warning, At: b.files.place(c.at), Other: b.files.place(first.at),
		Text: fmt.Sprintf("%s has two cables, to %s and to %s; the first is used",
			b.endLabel(c.from), b.endLabel(first.to), b.endLabel(c.to)),
	})
}

// agreed tells whether the other end says the same as c.
func (b *Builder) agreed(f *Fabric, c *cable, said []int32) bool {
	if c.both {
		return true
	}
	k := said[f.slot(c.to)]
	return k != 0 && b.cables[k-1].from == c.to && b.cables[k-1].to == c.from
}

// link adds c's link unless one of its ports has one.
func (b *Builder) link(f *Fabric, c *cable, said []int32) {
	x, y := &f.ports[f.slot(c.from)], &f.ports[f.slot(c.to)]
	if x.Link != NoLink && x.Link == y.Link {
		b.sameRate(c, &f.links[x.Link].Rate, b.cables[said[f.slot(c.to)]-1].at)
		return
	}
	if x.Link != NoLink || y.Link != NoLink {
		taken := c.from
		if x.Link == NoLink {
			taken = c.to
		}
		b.Report(Fault{
			Kind: FaultPortConflict, Severity: Warning, At: b.files.place(c.at),
			Other: b.files.place(b.cables[said[f.slot(taken)]-1].at),
			Text: fmt.Sprintf("no room for a cable from %s to %s: a port has one already",
				b.endLabel(c.from), b.endLabel(c.to)),
		})
		return
	}
	id := LinkID(len(f.links))
	f.links = append(f.links, Link{A: c.from, B: c.to, Rate: c.rate})
	x.Link, y.Link = id, id
}

// sameRate holds the second end's width and speed against the first's, said at
// other: the smaller is what the link can do.
func (b *Builder) sameRate(c *cable, have *ib.LinkRate, other spot) {
	merged, alike := mergeRates(*have, c.rate)
	if !alike {
		b.Report(Fault{
			Kind: FaultDisagree, Severity: Warning, At: b.files.place(c.at), Other: b.files.place(other),
			Text: fmt.Sprintf("the ends of the link %s - %s differ in rate: %v and %v; the lower is used",
				b.endLabel(c.from), b.endLabel(c.to), c.rate, *have),
		})
	}
	*have = merged
}

// mergeRates is the lower of two rates, where a half that only one of them
// knows is no contradiction.
func mergeRates(x, y ib.LinkRate) (merged ib.LinkRate, alike bool) {
	if x.Width == 0 {
		x.Width = y.Width
	}
	if x.Speed == 0 {
		x.Speed = y.Speed
	}
	if y.Width == 0 {
		y.Width = x.Width
	}
	if y.Speed == 0 {
		y.Speed = x.Speed
	}
	lower := cmp.Or(cmp.Compare(y.Gbps(), x.Gbps()), cmp.Compare(y.Width, x.Width), cmp.Compare(y.Speed, x.Speed))
	if lower < 0 {
		return y, false
	}
	return x, lower == 0
}

// oneSided reports a cable that its other end does not know, or contradicts,
// and keeps it where no other cable is in the way.
func (b *Builder) oneSided(f *Fabric, c *cable, said []int32) {
	free := f.ports[f.slot(c.from)].Link == NoLink && f.ports[f.slot(c.to)].Link == NoLink
	if k := said[f.slot(c.to)]; k != 0 {
		b.contradicted(c, &b.cables[k-1])
	} else {
		b.Report(Fault{
			Kind: FaultOneSided, Severity: Warning, At: b.files.place(c.at), Other: b.placeOf(c.to.Node),
			Text: fmt.Sprintf("%s says that it is cabled to %s, which does not say so",
				b.endLabel(c.from), b.endLabel(c.to)),
		})
	}
	if free {
		b.link(f, c, said)
	}
}

// contradicted reports that the other end of c says something else.
func (b *Builder) contradicted(c, other *cable) {
	theirs := other.to
	if theirs == c.to { // a statement for both ends
		theirs = other.from
	}
	b.Report(Fault{
		Kind: FaultDisagree, Severity: Warning, At: b.files.place(c.at), Other: b.files.place(other.at),
		Text: fmt.Sprintf("%s says that it is cabled to %s, which says %s",
			b.endLabel(c.from), b.endLabel(c.to), b.endLabel(theirs)),
	})
}

func (b *Builder) endLabel(e End) string {
	return fmt.Sprintf("%s port %d", b.nodes[e.Node].Label(), e.Port)
}

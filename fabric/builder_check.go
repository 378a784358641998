package fabric

import (
	"fmt"
	"slices"
	"strings"

	"heddle/ib"
)

// checkWhole looks for faults that no single statement shows.
func (b *Builder) checkWhole(f *Fabric) {
	b.checkLIDs(f)
	b.checkSizes(f)
	if len(f.switches) == 0 {
		b.Report(Fault{
			Kind: FaultNoSwitch, Severity: Error,
			Text: fmt.Sprintf("no switch among %d nodes: nothing to route", len(f.nodes)),
		})
	}
	for _, id := range f.unlinked() {
		b.Report(Fault{
			Kind: FaultNoLink, Severity: Warning, At: b.placeOf(id),
			Text: f.nodes[id].Label() + " has no link",
		})
	}
	b.checkIslands(f)
}

// checkSizes reports nodes with more ports than InfiniBand can number.
func (b *Builder) checkSizes(f *Fabric) {
	for i := range f.nodes {
		if n := &f.nodes[i]; n.NumPorts > MaxPorts {
			b.Report(Fault{
				Kind: FaultLimit, Severity: Warning, At: b.placeOf(NodeID(i)),
				Text: fmt.Sprintf("%s has %d ports, but port numbers end at %d: it can be routed, not programmed",
					n.Label(), n.NumPorts, MaxPorts),
			})
		}
	}
}

// checkIslands names each component beside the largest; a node without a link
// was named before.
func (b *Builder) checkIslands(f *Fabric) {
	parts := f.Components()
	for i, part := range parts {
		if i == 0 || !f.linked(part[0]) {
			continue
		}
		b.Report(Fault{
			Kind: FaultIsland, Severity: Error, At: b.placeOf(part[0]),
			Text: fmt.Sprintf("%d nodes are cut off from the other %d: %s",
				len(part), len(f.nodes)-len(part), f.nameSome(part, 8)),
		})
	}
}

func (f *Fabric) nameSome(ids []NodeID, most int) string {
	var names []string
	for _, id := range ids[:min(most, len(ids))] {
		names = append(names, f.nodes[id].Label())
	}
	if more := len(ids) - most; more > 0 {
		names = append(names, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(names, ", ")
}

// lidOwner is a port's range of LIDs.
type lidOwner struct {
	first, last int
	end         End
}

// checkLIDs reports ports whose LID ranges meet.
func (b *Builder) checkLIDs(f *Fabric) {
	var owners []lidOwner
	for i := range f.nodes {
		for p := 0; p <= int(f.nodes[i].NumPorts); p++ {
			e := End{NodeID(i), uint16(p)}
			if port := f.Port(e); port.LID.IsUnicast() {
				first := int(port.LID)
				owners = append(owners, lidOwner{first, first + 1<<min(port.LMC, 7) - 1, e})
			}
		}
	}
	slices.SortStableFunc(owners, func(x, y lidOwner) int { return x.first - y.first })
	var x lidOwner // of those before, the one that reaches farthest
	for _, y := range owners {
		if y.first <= x.last {
			b.Report(Fault{
				Kind: FaultDuplicateLID, Severity: Warning, At: b.placeOf(y.end.Node), Other: b.placeOf(x.end.Node),
				Text: fmt.Sprintf("%s and %s both own LID %v", b.endLabel(x.end), b.endLabel(y.end), ib.LID(y.first)),
			})
		}
		if y.last > x.last {
			x = y
		}
	}
}

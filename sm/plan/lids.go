package plan

import (
	"fmt"
	"math/bits"

	"heddle/ib"
	"heddle/sm/subnet"
)

// LIDRange is the LIDs of a port, of which the first is its base LID.
type LIDRange struct{ First, Last ib.LID }

// LIDRules say how LIDs are given.
type LIDRules struct {
	// LMC gives 2^LMC LIDs to each adapter's port, and with LMCPort0 to each
	// enhanced port 0.
	LMC      uint8
	LMCPort0 bool
	// Keep is what ports had before, by port GUID.
	Keep map[ib.GUID]LIDRange
	// Reassign gives LIDs by Keep and the order of GUIDs alone, whatever the
	// ports have now.
	Reassign bool
}

// AssignLIDs gives LIDs to all ports of a view that have an address. A port
// keeps the LID that it has, if no other port has it; else it gets the one that
// it had before, if nobody else has that now; else the first that is free and
// that nobody had before. The error is of a subnet with more ports than LIDs.
func AssignLIDs(v *subnet.View, o LIDRules) (LIDs, error) {
	a := assigner{rules: o, owner: make([]*subnet.Port, ib.NumUnicastLIDs+1), kept: make([]bool, ib.NumUnicastLIDs+1)}
	for _, r := range o.Keep {
		for lid := r.First; lid <= r.Last && lid.IsUnicast() && r.First > 0; lid++ {
			a.kept[lid] = true
		}
	}
	ports := addressed(v)
	if !o.Reassign {
		a.present(ports)
	}
	for _, p := range ports {
		a.before(p)
	}
	lids := LIDs{}
	for _, p := range ports {
		base, err := a.settle(p)
		if err != nil {
			return nil, err
		}
		lids[p] = LIDRange{base, base + 1<<a.lmc(p) - 1}
	}
	return lids, nil
}

// LIDs are those of all ports that have some.
type LIDs map[PortRef]LIDRange

// LMC is that of a range of 2^LMC LIDs.
func (r LIDRange) LMC() uint8 { return uint8(bits.Len16(uint16(r.Last - r.First))) }

// PortRef is a port of a view.
type PortRef struct {
	Node *subnet.Node
	Port uint8
}

// At is the port.
func (p PortRef) At() *subnet.Port { return &p.Node.Ports[p.Port] }

// Label is how messages name the port.
func (p PortRef) Label() string {
	if p.Node.IsSwitch() {
		return p.Node.Label()
	}
	return fmt.Sprintf("%s port %d", p.Node.Label(), p.Port)
}

// addressed are the ports that have LIDs: first those of switches, whose LIDs
// are then the lowest, and in the order of their GUIDs.
func addressed(v *subnet.View) (ports []PortRef) {
	for _, switches := range []bool{true, false} {
		for _, n := range v.Nodes {
			if n.IsSwitch() != switches {
				continue
			}
			for _, number := range n.Addressed() {
				ports = append(ports, PortRef{n, number})
			}
		}
	}
	return ports
}

type assigner struct {
	rules LIDRules
	owner []*subnet.Port // by LID; a GUID may be that of two
	kept  []bool         // LIDs that somebody had before
	next  ib.LID         // below which none is free that nobody had before
}

func (a *assigner) lmc(p PortRef) uint8 {
	if p.Node.IsSwitch() && !(a.rules.LMCPort0 && p.Node.Switch.EnhancedPort0) {
		return 0
	}
	return a.rules.LMC
}

// present gives ports the LIDs that they have, but those that two have.
func (a *assigner) present(ports []PortRef) {
	claims := make([]uint8, len(a.owner))
	for _, p := range ports {
		a.each(p, p.At().Info.LID, func(lid ib.LID) { claims[lid] = min(claims[lid]+1, 2) })
	}
	for _, p := range ports {
		alone := true
		a.each(p, p.At().Info.LID, func(lid ib.LID) { alone = alone && claims[lid] == 1 })
		if alone {
			a.claim(p, p.At().Info.LID)
		}
	}
}

// each visits the LIDs of a port from a base on, if they are good ones.
func (a *assigner) each(p PortRef, base ib.LID, visit func(ib.LID)) {
	if !a.fits(p, base) {
		return
	}
	for lid := base; lid < base+1<<a.lmc(p); lid++ {
		visit(lid)
	}
}

// fits tells whether a base LID is one that the port may have.
func (a *assigner) fits(p PortRef, base ib.LID) bool {
	size := ib.LID(1) << a.lmc(p)
	return base.IsUnicast() && base&(size-1) == 0 && base+size-1 <= ib.MaxUnicastLID
}

// claim gives a port its LIDs, if all of them are free.
func (a *assigner) claim(p PortRef, base ib.LID) bool {
	free := a.fits(p, base)
	a.each(p, base, func(lid ib.LID) { free = free && a.owner[lid] == nil })
	if free {
		a.each(p, base, func(lid ib.LID) { a.owner[lid] = p.At() })
	}
	return free
}

// has tells whether a port has LIDs already, from a base on.
func (a *assigner) has(p PortRef, base ib.LID) bool {
	return a.fits(p, base) && a.owner[base] == p.At()
}

// before gives a port without a LID the one that it had before.
func (a *assigner) before(p PortRef) {
	if !a.has(p, p.At().Info.LID) {
		a.claim(p, a.rules.Keep[p.At().GUID].First)
	}
}

// settle finds what a port got, or gives it what is free.
func (a *assigner) settle(p PortRef) (ib.LID, error) {
	x := p.At()
	switch kept := a.rules.Keep[x.GUID].First; {
	case a.has(p, x.Info.LID):
		return x.Info.LID, nil
	case a.has(p, kept):
		return kept, nil
	default:
		return a.free(p)
	}
}

// free gives a port the first LIDs that are free and that nobody had before,
// or, where there are no more such ones, that are free.
func (a *assigner) free(p PortRef) (ib.LID, error) {
	size := ib.LID(1) << a.lmc(p)
	for base := max(size, a.next&^(size-1)); base <= ib.MaxUnicastLID; base += size {
		untouched := true
		a.each(p, base, func(lid ib.LID) { untouched = untouched && !a.kept[lid] })
		if untouched && a.claim(p, base) {
			if size == 1 {
				a.next = base
			}
			return base, nil
		}
	}
	for base := size; base <= ib.MaxUnicastLID; base += size {
		if a.claim(p, base) {
			return base, nil
		}
	}
	return 0, fmt.Errorf("no LID is free for %s", p.Label())
}

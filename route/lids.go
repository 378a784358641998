package route

import (
	"fmt"

	"heddle/fabric"
	"heddle/ib"
)

// LIDs tells which port owns which LID. It is immutable.
type LIDs struct {
	owner []fabric.End // by LID; Node NoNode where there is none
}

// TooManyLIDsError tells that a fabric needs more LIDs than there are.
type TooManyLIDsError struct {
	Need int
}

func (e *TooManyLIDsError) Error() string {
	return fmt.Sprintf("the ports need LIDs up to %d, unicast LIDs end at %d", e.Need, ib.NumUnicastLIDs)
}

// LIDError tells of a port whose LIDs cannot be used.
type LIDError struct {
	Port string
	Why  string
}

func (e *LIDError) Error() string { return e.Port + " " + e.Why }

// LIDsOf takes the LIDs that a fabric's ports have. Where none has any, it
// assigns them as AssignLIDs does, with an LMC of 0. The error is a LIDError
// where a port has none though others have, where two ports have the same, or
// where one is not unicast.
func LIDsOf(f *fabric.Fabric) (*LIDs, error) {
	ports, missing := addressed(f), 0
	for _, e := range ports {
		if f.Port(e).LID == 0 {
			missing++
		}
	}
	if missing == len(ports) {
		return AssignLIDs(f, 0)
	}
	l := &LIDs{}
	for _, e := range ports {
		p := f.Port(e)
		if p.LID == 0 {
			return nil, &LIDError{f.EndLabel(e), fmt.Sprintf("has no LID, as %d of %d ports", missing, len(ports))}
		}
		if err := l.give(f, e, int(p.LID), p.LMC); err != nil {
			return nil, err
		}
	}
	return l, nil
}

// AssignLIDs gives LIDs to all ports, from 1 on: first the switches, then
// adapters and routers, in the order of their indices, 2^lmc to each port but
// those of switches. The error is a TooManyLIDsError.
func AssignLIDs(f *fabric.Fabric, lmc uint8) (*LIDs, error) {
	if lmc > 7 {
		return nil, fmt.Errorf("LMC %d is over 7", lmc)
	}
	ports := addressed(f)
	next := 1
	bases := make([]int, len(ports))
	for i, e := range ports {
		size := 1 << lmcAt(f, e, lmc)
		next = (next + size - 1) &^ (size - 1)
		bases[i] = next
		next += size
	}
	if next-1 > ib.NumUnicastLIDs {
		return nil, &TooManyLIDsError{next - 1}
	}
	l := &LIDs{}
	for i, e := range ports {
		if err := l.give(f, e, bases[i], lmcAt(f, e, lmc)); err != nil {
			return nil, err
		}
	}
	return l, nil
}

// lmcAt is the LMC of a port: 0 for a switch, whose port 0 has one LID unless
// it is enhanced.
func lmcAt(f *fabric.Fabric, e fabric.End, lmc uint8) uint8 {
	if f.Node(e.Node).Kind == fabric.Switch {
		return 0
	}
	return lmc
}

// addressed lists the ports that have LIDs of their own: port 0 of switches,
// and the cabled ports of adapters and routers.
func addressed(f *fabric.Fabric) []fabric.End {
	var ports []fabric.End
	for _, id := range f.Switches() {
		if f.NodeUp(id) {
			ports = append(ports, fabric.End{Node: id})
		}
	}
	for _, nodes := range [][]fabric.NodeID{f.Adapters(), f.Routers()} {
		for _, id := range nodes {
			for e := range f.Ports(id) {
				ports = append(ports, e)
			}
		}
	}
	return ports
}

// give makes a port the owner of 2^lmc LIDs.
func (l *LIDs) give(f *fabric.Fabric, e fabric.End, base int, lmc uint8) error {
	for lid := base; lid < base+1<<lmc; lid++ {
		if !ib.LID(lid).IsUnicast() || lid > ib.NumUnicastLIDs {
			return &LIDError{f.EndLabel(e), fmt.Sprintf("has LID %d, unicast LIDs are 1 to %d", lid, ib.NumUnicastLIDs)}
		}
		for len(l.owner) <= lid {
			l.owner = append(l.owner, fabric.End{Node: fabric.NoNode})
		}
		if other := l.owner[lid]; other.Node != fabric.NoNode {
			return &LIDError{f.EndLabel(e), fmt.Sprintf("has LID %d, as %s has", lid, f.EndLabel(other))}
		}
		l.owner[lid] = e
	}
	return nil
}

// Owner is the port that a LID belongs to.
func (l *LIDs) Owner(lid ib.LID) (fabric.End, bool) {
	if int(lid) >= len(l.owner) || l.owner[lid].Node == fabric.NoNode {
		return fabric.End{Node: fabric.NoNode}, false
	}
	return l.owner[lid], true
}

// Top is the highest LID that belongs to a port.
func (l *LIDs) Top() ib.LID { return ib.LID(max(0, len(l.owner)-1)) }

package admin

import (
	"cmp"
	"fmt"
	"slices"

	"heddle/ib"
	"heddle/mad"
)

// Snapshot is a Subnet with what finds its ports and paths fast. It does not
// change, and may be used by many goroutines.
type Snapshot struct {
	subnet  Subnet
	ends    []end // in the order of their LIDs
	byGUID  map[ib.GUID]*end
	byLID   []*end // by LID, up to the highest
	steps   []step // by node
	classes classes
	aliases *aliases // the server's, when it has the snapshot; nil before
}

// end is a port that has an address.
type end struct {
	guid  ib.GUID
	node  int32
	class int32 // of its partitions
	lid   ib.LID
	port  uint8
	lmc   uint8
	mtu   ib.MTU
	rate  ib.Rate
}

// step is what a walk reads of a node, together in memory.
type step struct {
	isSwitch bool
	lft      []uint8
	hops     []hop // by port
}

// hop is what a port of a node leads to.
type hop struct {
	node int32 // -1 for nothing
	port uint8
	mtu  ib.MTU // of the link
	rate ib.Rate
}

// NewSnapshot makes a snapshot. What contradicts itself is left out and told:
// the later of two ports with one LID or GUID, and cables that lead nowhere.
func NewSnapshot(subnet Subnet) (*Snapshot, []error) {
	subnet.Prefix = cmp.Or(subnet.Prefix, ib.DefaultPrefix)
	s := &Snapshot{subnet: subnet, byGUID: map[ib.GUID]*end{}}
	faults := s.addHops()
	for i := range subnet.Nodes {
		s.addEnds(int32(i))
	}
	slices.SortStableFunc(s.ends, func(a, b end) int { return cmp.Compare(a.lid, b.lid) })
	s.ends = slices.DeleteFunc(s.ends, func(e end) bool {
		err := s.claim(&e)
		if err != nil {
			faults = append(faults, err)
		}
		return err != nil
	})
	for i := range s.ends {
		s.index(&s.ends[i])
	}
	s.classes.complete()
	return s, faults
}

func (s *Snapshot) addHops() (faults []error) {
	nodes := s.subnet.Nodes
	s.steps = make([]step, len(nodes))
	for i := range nodes {
		s.steps[i] = step{nodes[i].IsSwitch(), nodes[i].LFT, make([]hop, len(nodes[i].Ports))}
		for number := range nodes[i].Ports {
			p := &nodes[i].Ports[number]
			s.steps[i].hops[number].node = -1
			switch {
			case !p.Linked:
			case p.Peer < 0 || int(p.Peer) >= len(nodes) || int(p.PeerPort) >= len(nodes[p.Peer].Ports):
				faults = append(faults, fmt.Errorf("node %v port %d leads to node %d port %d, which is not there",
					nodes[i].Info.NodeGUID, number, p.Peer, p.PeerPort))
			default:
				s.steps[i].hops[number] = hop{p.Peer, p.PeerPort, p.mtu(), p.rate()}
			}
		}
	}
	return faults
}

// addEnds adds the ports of a node that have a LID.
func (s *Snapshot) addEnds(i int32) {
	n := &s.subnet.Nodes[i]
	for number := range n.Ports {
		p := &n.Ports[number]
		if n.IsSwitch() != (number == 0) || !p.Known || !p.Info.LID.IsUnicast() {
			continue
		}
		e := end{
			guid: p.GUID, node: i, port: uint8(number), lid: p.Info.LID, lmc: p.Info.LMC & 7,
			mtu: p.mtu(), rate: p.rate(), class: s.classes.of(p.PKeys),
		}
		if number == 0 {
			s.steps[i].hops[0].node = -1
			e.rate = s.fastest(i, e.rate)
		}
		s.ends = append(s.ends, e)
	}
}

// fastest is the rate of port 0 of a switch, which has no link: that of the
// fastest of the others where it tells none.
func (s *Snapshot) fastest(node int32, own ib.Rate) ib.Rate {
	if own.IsValid() {
		return own
	}
	for _, h := range s.steps[node].hops {
		if h.node >= 0 && h.rate.Compare(own) > 0 {
			own = h.rate
		}
	}
	return own
}

// claim keeps the LIDs and the GUID of a port for it.
func (s *Snapshot) claim(e *end) error {
	last := int(e.lid) + 1<<e.lmc - 1
	if last > int(ib.MaxUnicastLID) {
		return fmt.Errorf("LID %v with LMC %d of port %v is out of range", e.lid, e.lmc, e.guid)
	}
	if _, taken := s.byGUID[e.guid]; taken || !e.guid.IsValid() {
		return fmt.Errorf("GUID %v of LID %v is invalid, or that of another port", e.guid, e.lid)
	}
	for lid := int(e.lid); lid < len(s.byLID); lid++ {
		if s.byLID[lid] != nil {
			return fmt.Errorf("LID %d of port %v is that of another port", lid, e.guid)
		}
	}
	for len(s.byLID) <= last {
		s.byLID = append(s.byLID, nil)
	}
	s.byLID[last] = e // index puts the one in that stays
	s.byGUID[e.guid] = nil
	return nil
}

// index lets a port be found by its LIDs and its GUID.
func (s *Snapshot) index(e *end) {
	for lid := e.lid; lid < e.lid+1<<e.lmc; lid++ {
		s.byLID[lid] = e
	}
	s.byGUID[e.guid] = e
}

func (s *Snapshot) node(e *end) *Node { return &s.subnet.Nodes[e.node] }

func (s *Snapshot) port(e *end) *Port { return &s.subnet.Nodes[e.node].Ports[e.port] }

// at is the port with a LID, nil where there is none.
func (s *Snapshot) at(lid ib.LID) *end {
	if int(lid) >= len(s.byLID) {
		return nil
	}
	return s.byLID[lid]
}

// named is the port with a GID, or an alias of it; nil where there is none. The
// default prefix means the subnet's.
func (s *Snapshot) named(gid ib.GID) *end {
	if p := gid.Prefix(); p != s.subnet.Prefix && p != ib.DefaultPrefix {
		return nil
	}
	if e := s.byGUID[gid.GUID()]; e != nil || s.aliases == nil {
		return e
	}
	return s.byGUID[s.aliases.owner(gid.GUID())]
}

// gid is the first GID of a port.
func (s *Snapshot) gid(e *end) ib.GID { return ib.NewGID(s.subnet.Prefix, e.guid) }

// gids are all GIDs of a port.
func (s *Snapshot) gids(e *end) []ib.GID {
	list := []ib.GID{s.gid(e)}
	if s.aliases == nil {
		return list
	}
	for _, alias := range s.aliases.of(e.guid) {
		if alias.IsValid() && s.byGUID[alias] == nil {
			list = append(list, ib.NewGID(s.subnet.Prefix, alias))
		}
	}
	return list
}

// owns tells whether a GID is one of a port's.
func (s *Snapshot) owns(e *end, gid ib.GID) bool { return s.named(gid) == e }

// pkeys is the P_Key table of a port.
func (s *Snapshot) pkeys(e *end) []ib.PKey { return s.classes.list[e.class] }

// walk follows the forwarding tables from a port to a LID of another, and gives
// the MTU and rate of the narrowest link; ok is false where they do not lead
// there.
func (s *Snapshot) walk(from *end, to ib.LID, dest *end) (mtu ib.MTU, rate ib.Rate, ok bool) {
	mtu, rate = min(from.mtu, dest.mtu), slower(from.rate, dest.rate)
	if from == dest {
		return mtu, rate, true
	}
	node, port := from.node, from.port
	for range mad.MaxHops + 1 {
		n := &s.steps[node]
		if n.isSwitch {
			if int(to) >= len(n.lft) {
				return 0, 0, false
			}
			port = n.lft[to]
		}
		if port == 0 {
			return mtu, rate, node == dest.node && dest.port == 0
		}
		if int(port) >= len(n.hops) || n.hops[port].node < 0 {
			return 0, 0, false
		}
		h := &n.hops[port]
		mtu, rate = min(mtu, h.mtu), slower(rate, h.rate)
		node, port = h.node, h.port
		if node == dest.node && port == dest.port {
			return mtu, rate, true
		}
		if !s.steps[node].isSwitch {
			return 0, 0, false
		}
	}
	return 0, 0, false
}

func slower(a, b ib.Rate) ib.Rate {
	if a == b || a.Compare(b) < 0 {
		return a
	}
	return b
}

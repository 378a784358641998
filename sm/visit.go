package sm

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"heddle/ib"
	"heddle/route"
	"heddle/sm/plan"
	"heddle/sm/subnet"
)

// Subnet is what a Manager knows of its subnet after a sweep. It is good until
// the function that it is given to returns, and must not be changed.
type Subnet struct {
	View *subnet.View
	// LFTs are what the manager routed.
	LFTs *route.LFTs
	// LIDs has the ports of the subnet, and those that are gone, whose LIDs
	// nobody else has.
	LIDs map[ib.GUID]plan.LIDRange

	tables *tables
}

// MFTs are what the switches are known to hold, but for MLIDs of which a switch
// forwards to no port.
func (s *Subnet) MFTs() *route.MFTs {
	g := s.LFTs.Graph
	t := &route.MFTs{Graph: g, Tables: make([]route.MFT, g.NumVertices())}
	for v := range t.Tables {
		t.Tables[v] = s.tables.known(g.Fabric().Node(g.Node(int32(v))).GUID)
	}
	return t
}

// known is the multicast table that a switch is known to hold.
func (t *tables) known(sw ib.GUID) (table route.MFT) {
	const (
		rows  = 32 // of a block
		ports = 16 // of a position
	)
	t.mu.RLock()
	defer t.mu.RUnlock()
	entries := map[ib.MLID]*route.PortSet{}
	for position, blocks := range t.held.Switch(sw).MFT {
		for block, masks := range blocks {
			if masks == nil {
				continue
			}
			for bit := range rows * ports {
				row, port := bit/ports, bit%ports
				if masks[row]>>port&1 == 0 {
					continue
				}
				mlid := ib.FirstMLID + ib.MLID(block*rows+row)
				if entries[mlid] == nil {
					entries[mlid] = &route.PortSet{}
				}
				entries[mlid].Add(uint16(position*ports + port))
			}
		}
	}
	for _, mlid := range slices.Sorted(maps.Keys(entries)) {
		table = append(table, route.MFTEntry{MLID: mlid, Ports: *entries[mlid]})
	}
	return table
}

// subnet is what Config.Swept and Visit tell.
func (m *Manager) subnet() Subnet {
	return Subnet{View: m.view, LFTs: m.lfts, LIDs: m.allLIDs(), tables: m.tables}
}

// tellSwept shows a sweep to Config.Swept.
func (m *Manager) tellSwept(r *Report) {
	if m.cfg.Swept == nil {
		return
	}
	defer m.computing("what a sweep is shown to")()
	m.cfg.Swept(m.subnet(), r)
}

// visit is a function that wants to see the subnet.
type visit struct {
	see  func(Subnet) error
	done chan error
}

// Visit has Run show the subnet to a function, and waits until that returns. It
// may be called by any goroutine; the manager does nothing else meanwhile.
func (m *Manager) Visit(ctx context.Context, see func(Subnet) error) error {
	v := visit{see, make(chan error, 1)}
	select {
	case m.visits <- v:
	case <-ctx.Done():
		return fmt.Errorf("subnet manager: %w", context.Cause(ctx))
	}
	return <-v.done
}

// visited does what Visit asks for.
func (m *Manager) visited(v visit) {
	if !m.leading || m.lfts == nil {
		v.done <- errors.New("the manager is not the master, or its first sweep has not ended")
		return
	}
	defer m.computing("a visit")()
	v.done <- v.see(m.subnet())
}

package sm

import (
	"slices"
	"sync"
	"time"

	"heddle/ib"
	"heddle/mad"
	"heddle/route"
	"heddle/sm/admin"
	"heddle/sm/plan"
	"heddle/sm/subnet"
)

// tables is what the switches are known to hold, for the manager, which writes
// it, and for subnet administration, which reads the multicast tables.
type tables struct {
	mu sync.RWMutex
	// held is guarded by mu where it is written, and read by others than the
	// manager; its tables of ports, which others write as well, always are.
	held *plan.Held
	// walked are the switches of which all multicast tables were read since they
	// came, as far as they may have had entries; the manager's own goroutine has
	// them.
	walked map[ib.GUID]bool
}

// answered takes the answer to a Get or a Set.
func (t *tables) answered(guid ib.GUID, attr mad.AttrID, modifier uint32, data []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.held.Answered(guid, attr, modifier, data)
}

// unsure forgets a block whose Set was not answered.
func (t *tables) unsure(guid ib.GUID, attr mad.AttrID, modifier uint32) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.held.Unsure(guid, attr, modifier)
}

// told takes the answer to a Get or a Set of a port's table.
func (t *tables) told(q *plan.SMP, d *mad.Datagram) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.held.Told(q.Node.GUID(), q.Port, q.Attr, q.Modifier, d.Data(), d.Status() == mad.StatusOK)
}

func (t *tables) doubt(q *plan.SMP) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.held.Doubt(q.Node.GUID(), q.Port, q.Attr, q.Modifier)
}

func (t *tables) unknownLanes(v *subnet.View, r plan.PortRules) []plan.SMP {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return slices.Collect(plan.UnknownLanes(v, r, t.held))
}

func (t *tables) laneStage(v *subnet.View, r plan.PortRules) plan.Stage {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return plan.LaneStage(v, r, t.held)
}

func (t *tables) forget(guid ib.GUID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.held.Forget(guid)
	delete(t.walked, guid)
}

// reset is forget of a switch that forwards nothing: managers write unicast
// tables first, so that nothing is left in it.
func (t *tables) reset(guid ib.GUID) {
	t.forget(guid)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.held.Reset(guid)
}

// forgetAll forgets what all switches hold.
func (t *tables) forgetAll() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.held = plan.NewHeld()
	clear(t.walked)
}

// MFT gives a block to subnet administration.
func (t *tables) MFT(sw ib.GUID, block uint16, position uint8) (b mad.MulticastForwarding, ok bool) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	blocks := t.held.Switch(sw).MFT
	if int(position) >= len(blocks) || int(block) >= len(blocks[position]) || blocks[position][block] == nil {
		return b, false
	}
	return *blocks[position][block], true
}

// show gives subnet administration what a sweep saw.
func (m *Manager) show(lfts *route.LFTs) admin.Changes {
	defer m.computing("the records of subnet administration")()
	return m.server().Update(time.Now(), m.snapshot(lfts))
}

// snapshot is what subnet administration tells of a sweep.
func (m *Manager) snapshot(lfts *route.LFTs) *admin.Snapshot {
	v := m.view
	s := admin.Subnet{Prefix: m.cfg.Ports.Prefix, Nodes: make([]admin.Node, len(v.Nodes)), MFTs: m.tables, Lifetime: packetLifetime, SLs: m.levels(), Tables: m.portTables()}
	for i, n := range v.Nodes {
		s.Nodes[i] = adminNode(n)
	}
	for vertex, table := range lfts.Tables {
		s.Nodes[lfts.Graph.Node(int32(vertex))].LFT = table
	}
	s.Managers = []mad.SMInfoRecord{{LID: m.cfg.Ports.Manager, Info: m.vote.info()}}
	snapshot, wrong := admin.NewSnapshot(s)
	for _, err := range wrong {
		m.cfg.Log.Warn("subnet administration", "error", err)
	}
	return snapshot
}

// levels are the service levels of the partitions that have others than 0.
func (m *Manager) levels() map[uint16]ib.SL {
	levels := map[uint16]ib.SL{}
	for _, p := range m.cfg.PKeys.Config().Partitions() {
		if p.SL != 0 {
			levels[p.Base] = p.SL
		}
	}
	return levels
}

// packetLifetime is how long a packet may live, about a second.
const packetLifetime mad.TimeValue = 18

func adminNode(n *subnet.Node) admin.Node {
	a := admin.Node{Info: n.Info, Description: mad.NewNodeDescription(n.Description), Ports: make([]admin.Port, len(n.Ports))}
	if n.IsSwitch() {
		info := n.Switch // which the next sweep's answers change
		a.Switch = &info
	}
	for i := range n.Ports {
		x := &n.Ports[i]
		p := admin.Port{Known: x.Answered, GUID: x.GUID, Info: x.Info, PKeys: x.PKeys}
		if rate := x.Rate(); rate.IsValid() {
			p.Rate = rate.Rate()
		}
		if peer, number, ok := n.Peer(uint8(i)); ok {
			p.Linked, p.Peer, p.PeerPort = true, int32(peer.ID), number
		}
		a.Ports[i] = p
	}
	return a
}

// multicastCap is how many MLIDs all switches that can multicast forward.
func multicastCap(v *subnet.View) int {
	n := ib.NumMLIDs
	for _, id := range v.Fabric.Switches() {
		if c := int(v.Nodes[id].Switch.MulticastFDBCap); c > 0 {
			n = min(n, c)
		}
	}
	return n
}

// own is the manager's port.
func (m *Manager) own() plan.PortRef {
	return plan.PortRef{Node: m.view.Nodes[m.view.Own.Node], Port: uint8(m.view.Own.Port)}
}

package topology

import (
	"fmt"

	"heddle/fabric"
	"heddle/ib"
)

// The GUIDs of generated nodes have the bit of local administration set. A
// node's ports follow its GUID.
const (
	switchGUIDs  = ib.GUID(0x0200_0001_0000_0000)
	adapterGUIDs = ib.GUID(0x0200_0002_0000_0000)
	guidStep     = 16
)

// build states the plan to a Builder.
func (w *wiring) build(o options) (*fabric.Fabric, []fabric.Fault) {
	b := &fabric.Builder{}
	lids := lidCounter{on: len(w.names)+w.total <= ib.NumUnicastLIDs}
	for i := range w.names {
		w.addSwitch(b, i, o.mcap, lids.next())
	}
	for _, c := range w.cables {
		x := fabric.End{Node: fabric.NodeID(c.a), Port: c.pa}
		y := fabric.End{Node: fabric.NodeID(c.b), Port: c.pb}
		b.Cable(x, y, o.rate, fabric.Place{})
	}
	host, width := 0, digits(w.total)
	for i, n := range w.hosts {
		for p := range n {
			at := fabric.End{Node: fabric.NodeID(i), Port: w.used[i] + p + 1}
			b.Cable(addHost(b, host, width, lids.next()), at, o.rate, fabric.Place{})
			host++
		}
	}
	return b.Build()
}

// lidCounter counts from 1, or gives no LID at all.
type lidCounter struct {
	on   bool
	last ib.LID
}

func (c *lidCounter) next() ib.LID {
	if c.on {
		c.last++
	}
	return c.last
}

func (w *wiring) addSwitch(b *fabric.Builder, i int, mcap int32, lid ib.LID) {
	guid := switchGUIDs + ib.GUID(i)*guidStep
	id := b.AddNode(fabric.Node{
		GUID: guid, SystemGUID: guid, Name: w.names[i], Kind: fabric.Switch,
		NumPorts: w.used[i] + w.hosts[i], EnhancedPort0: true, MulticastCap: mcap,
	}, fabric.Place{})
	b.SetPort(fabric.End{Node: id}, fabric.PortInfo{GUID: guid, LID: lid}, fabric.Place{})
}

func addHost(b *fabric.Builder, i, width int, lid ib.LID) fabric.End {
	guid := adapterGUIDs + ib.GUID(i)*guidStep
	id := b.AddNode(fabric.Node{
		GUID: guid, SystemGUID: guid, Name: fmt.Sprintf("host-%0*d", width, i),
		Kind: fabric.Adapter, NumPorts: 1,
	}, fabric.Place{})
	end := fabric.End{Node: id, Port: 1}
	b.SetPort(end, fabric.PortInfo{GUID: guid + 1, LID: lid}, fabric.Place{})
	return end
}

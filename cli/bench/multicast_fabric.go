package bench

import (
	"time"

	"heddle/emu"
	"heddle/fabric"
	"heddle/ib"
	"heddle/route"
)

// fabricOf is an emulated subnet in virtual time with a station, an adapter
// and its program, at each end port.
type fabricOf struct {
	subnet   *emu.Subnet
	ends     []fabric.End
	stations map[fabric.End]int
	hosts    []*emu.Host
	receive  func(station int, b []byte)
}

// neverTooOld is a PortInfo:HOQLife that lets packets wait for ever, so that a
// deadlock shows.
const neverTooOld = 20

// newFabric makes the subnet of a fabric. Its switches have no tables.
func newFabric(f *fabric.Fabric, h Hardware, seed uint64) (*fabricOf, error) {
	s, err := emu.New(f, emu.Config{Wire: &h.Wire, Seed: seed})
	if err != nil {
		return nil, err
	}
	s.Activate(neverTooOld)
	x := &fabricOf{subnet: s, ends: f.EndPorts(), stations: map[fabric.End]int{}}
	for i, e := range x.ends {
		x.stations[e] = i
		host, err := s.AttachHost(e, emu.HostOptions{Receive: func(b []byte) { x.receive(i, b) }})
		if err != nil {
			return nil, err
		}
		x.hosts = append(x.hosts, host)
	}
	return x, nil
}

// send sends a packet that is right by its making.
func (x *fabricOf) send(station int, b []byte) { _ = x.hosts[station].Send(b) }

// write writes the rows of a switch's multicast tables, each for all of some
// MLIDs.
func (x *fabricOf) write(t *route.MFTs, mlids func(ib.MLID) []ib.MLID) error {
	for v, table := range t.Tables {
		for _, row := range table {
			for port := range row.Ports.All() {
				for _, m := range mlids(row.MLID) {
					if err := x.subnet.SetMulticast(t.Graph.Node(int32(v)), m, port); err != nil {
						return err
					}
				}
			}
		}
	}
	return nil
}

// members gives the stations of groups.
func (x *fabricOf) members(groups []fabric.Group) [][]int {
	list := make([][]int, len(groups))
	for i, g := range groups {
		for _, m := range g.Members {
			if station, ok := x.stations[m]; ok {
				list[i] = append(list[i], station)
			}
		}
	}
	return list
}

// busiest is the share of time since the start that the busiest port of a
// switch with a switch at its other end was sending.
func (x *fabricOf) busiest() float64 {
	f := x.subnet.Fabric()
	most := 0.0
	for id := range f.NumLinks() {
		l := f.Link(fabric.LinkID(id))
		if f.Node(l.A.Node).Kind != fabric.Switch || f.Node(l.B.Node).Kind != fabric.Switch {
			continue
		}
		for _, e := range []fabric.End{l.A, l.B} {
			c := x.subnet.Counters(e)
			bytes := c.PortXmitData*4 + c.PortXmitPkts*vcrc
			ns := float64(bytes) * 8 / l.Rate.Gbps()
			most = max(most, ns/float64(max(x.subnet.Now(), time.Nanosecond)))
		}
	}
	return most
}

const vcrc = 2 // bytes that PortXmitData leaves out

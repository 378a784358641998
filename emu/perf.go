package emu

import (
	"math"

	"heddle/fabric"
	"heddle/mad"
)

// counters are what a port counted. total goes on for ever, in 64 bits, as
// PortCountersExtended tells it; PortCounters tells how far total is from
// where a Set put it, and stops at its largest value.
type counters struct {
	total mad.PortCountersExtended
	since *mad.PortCountersExtended // nil while nobody wrote PortCounters
}

// smpWords is the length of a datagram on the wire, from LRH to VCRC, as
// PortXmitData counts it: in words of four bytes (IBTA 1, 16.1.3.5).
const smpWords = (8 + 12 + 8 + mad.Size + 4) / 4

func (c *counters) sent() {
	c.total.PortXmitPkts++
	c.total.PortUnicastXmitPkts++
	c.total.PortXmitData += smpWords
}

func (c *counters) received() {
	c.total.PortRcvPkts++
	c.total.PortUnicastRcvPkts++
	c.total.PortRcvData += smpWords
}

func (c *counters) sentData(h *header) {
	c.total.PortXmitPkts++
	c.total.PortXmitData += uint64(h.words)
	if h.multicast() {
		c.total.PortMulticastXmitPkts++
	} else {
		c.total.PortUnicastXmitPkts++
	}
}

func (c *counters) receivedData(h *header) {
	c.total.PortRcvPkts++
	c.total.PortRcvData += uint64(h.words)
	if h.multicast() {
		c.total.PortMulticastRcvPkts++
	} else {
		c.total.PortUnicastRcvPkts++
	}
}

// answerPerf answers a request to the agent of performance management in
// place (IBTA 1, 16.1). false means that no answer is due.
func (s *Subnet) answerPerf(p *Packet) bool {
	if !s.admitsKey(p) {
		return false
	}
	q := request{at: p.at, m: &p.MAD, data: p.MAD.Data(), set: p.MAD.Method() == mad.MethodSet}
	status := mad.StatusBadVersion
	if q.m.BaseVersion() == 1 && q.m.ClassVersion() == 1 {
		status = s.perfAttribute(&q)
	}
	q.m.SetStatus(status)
	p.turn(mad.MethodGetResp)
	return true
}

func (s *Subnet) perfAttribute(q *request) mad.Status {
	switch q.m.Attr() {
	case mad.AttrClassPortInfo:
		return s.perfClassPortInfo(q)
	case mad.AttrPortCounters:
		return s.portCounters(q)
	case mad.AttrPortCountersExtended:
		return s.portCountersExtended(q)
	default:
		return mad.StatusBadAttribute
	}
}

func (s *Subnet) perfClassPortInfo(q *request) mad.Status {
	if q.set {
		return mad.StatusBadAttribute
	}
	return q.reply(mad.ClassPortInfo{
		BaseVersion: 1, ClassVersion: 1, RespTimeValue: respTime,
		CapabilityMask:  mad.PerfCapAllPortSelect | mad.PerfCapExtendedWidth | mad.PerfCapXmitWait | mad.PerfCapQP1Dropped,
		CapabilityMask2: mad.PerfCap2AdditionalPortCountersExtended,
	})
}

// selected is the ports that PortSelect means: one, or all. ok is false where
// the node has none such.
func (s *Subnet) selected(q *request, number uint8) (ports []port, ok bool) {
	n := &s.nodes[q.at.Node]
	if number == mad.AllPorts {
		return n.ports[1:], true
	}
	e := fabric.End{Node: q.at.Node, Port: uint16(number)}
	if !s.has(e) {
		return nil, false
	}
	return n.ports[number : number+1], true
}

func (s *Subnet) portCounters(q *request) mad.Status {
	want, err := mad.ParsePortCounters(q.data)
	ports, ok := s.selected(q, want.PortSelect)
	if err != nil || !ok {
		return mad.StatusBadField
	}
	have := mad.PortCounters{PortSelect: want.PortSelect, CounterSelect: want.CounterSelect, CounterSelect2: want.CounterSelect2}
	for i := range ports {
		c := &ports[i].counters
		if q.set {
			c.write(&want)
		}
		c.addTo(&have)
	}
	return q.reply(have)
}

func (s *Subnet) portCountersExtended(q *request) mad.Status {
	want, err := mad.ParsePortCountersExtended(q.data)
	ports, ok := s.selected(q, want.PortSelect)
	if err != nil || !ok {
		return mad.StatusBadField
	}
	have := mad.PortCountersExtended{PortSelect: want.PortSelect, CounterSelect: want.CounterSelect, CounterSelect2: want.CounterSelect2}
	for i := range ports {
		c := &ports[i].counters
		if q.set {
			c.writeExtended(&want)
		}
		for k, sum := range have.Counters() {
			*sum += *c.total.Counters()[k]
		}
	}
	return q.reply(have)
}

// writeExtended writes the selected counters. What PortCounters tells stays as
// it was.
func (c *counters) writeExtended(want *mad.PortCountersExtended) {
	selected := uint32(want.CounterSelect)&0xFF | uint32(want.CounterSelect2)<<8
	value, since := want.Counters(), c.mark().Counters()
	for i, total := range c.total.Counters() {
		if selected&(1<<i) != 0 {
			*since[i] += *value[i] - *total
			*total = *value[i]
		}
	}
}

func (c *counters) mark() *mad.PortCountersExtended {
	if c.since == nil {
		c.since = &mad.PortCountersExtended{}
	}
	return c.since
}

// narrow is one counter of PortCounters: its bit in CounterSelect (with those
// of CounterSelect2 above), how to read and write it, and the counter of 64
// bits that it is the short form of.
type narrow struct {
	bit  uint32
	get  func(*mad.PortCounters) uint64
	set  func(*mad.PortCounters, uint64)
	wide func(*mad.PortCountersExtended) *uint64
}

func field[T ~uint8 | ~uint16 | ~uint32](bit uint32, most uint64,
	of func(*mad.PortCounters) *T, wide func(*mad.PortCountersExtended) *uint64,
) narrow {
	return narrow{
		bit: bit, wide: wide,
		get: func(c *mad.PortCounters) uint64 { return uint64(*of(c)) },
		set: func(c *mad.PortCounters, v uint64) { *of(c) = T(min(v, most)) },
	}
}

// addTo adds what PortCounters tells of a port to a sum.
func (c *counters) addTo(sum *mad.PortCounters) {
	for _, f := range narrowCounters() {
		v := *f.wide(&c.total)
		if c.since != nil {
			v -= *f.wide(c.since)
		}
		f.set(sum, f.get(sum)+v)
	}
}

// write sets the selected counters.
func (c *counters) write(want *mad.PortCounters) {
	selected := uint32(want.CounterSelect) | uint32(want.CounterSelect2)<<16
	for _, f := range narrowCounters() {
		if selected&f.bit != 0 {
			*f.wide(c.mark()) = *f.wide(&c.total) - f.get(want)
		}
	}
}

// narrowCounters is the table of all counters of PortCounters.
func narrowCounters() [18]narrow {
	type (
		pc  = mad.PortCounters
		ext = mad.PortCountersExtended
	)
	const most4, most8, most16, most32 = 15, math.MaxUint8, math.MaxUint16, math.MaxUint32
	return [...]narrow{
		field(1<<0, most16, func(c *pc) *uint16 { return &c.SymbolErrorCounter }, func(c *ext) *uint64 { return &c.SymbolErrorCounter }),
		field(1<<1, most8, func(c *pc) *uint8 { return &c.LinkErrorRecoveryCounter }, func(c *ext) *uint64 { return &c.LinkErrorRecoveryCounter }),
		field(1<<2, most8, func(c *pc) *uint8 { return &c.LinkDownedCounter }, func(c *ext) *uint64 { return &c.LinkDownedCounter }),
		field(1<<3, most16, func(c *pc) *uint16 { return &c.PortRcvErrors }, func(c *ext) *uint64 { return &c.PortRcvErrors }),
		field(1<<4, most16, func(c *pc) *uint16 { return &c.PortRcvRemotePhysicalErrors }, func(c *ext) *uint64 { return &c.PortRcvRemotePhysicalErrors }),
		field(1<<5, most16, func(c *pc) *uint16 { return &c.PortRcvSwitchRelayErrors }, func(c *ext) *uint64 { return &c.PortRcvSwitchRelayErrors }),
		field(1<<6, most16, func(c *pc) *uint16 { return &c.PortXmitDiscards }, func(c *ext) *uint64 { return &c.PortXmitDiscards }),
		field(1<<7, most8, func(c *pc) *uint8 { return &c.PortXmitConstraintErrors }, func(c *ext) *uint64 { return &c.PortXmitConstraintErrors }),
		field(1<<8, most8, func(c *pc) *uint8 { return &c.PortRcvConstraintErrors }, func(c *ext) *uint64 { return &c.PortRcvConstraintErrors }),
		field(1<<9, most4, func(c *pc) *uint8 { return &c.LocalLinkIntegrityErrors }, func(c *ext) *uint64 { return &c.LocalLinkIntegrityErrors }),
		field(1<<10, most4, func(c *pc) *uint8 { return &c.ExcessiveBufferOverrunErrors }, func(c *ext) *uint64 { return &c.ExcessiveBufferOverrunErrors }),
		field(1<<11, most16, func(c *pc) *uint16 { return &c.VL15Dropped }, func(c *ext) *uint64 { return &c.VL15Dropped }),
		field(1<<12, most32, func(c *pc) *uint32 { return &c.PortXmitData }, func(c *ext) *uint64 { return &c.PortXmitData }),
		field(1<<13, most32, func(c *pc) *uint32 { return &c.PortRcvData }, func(c *ext) *uint64 { return &c.PortRcvData }),
		field(1<<14, most32, func(c *pc) *uint32 { return &c.PortXmitPkts }, func(c *ext) *uint64 { return &c.PortXmitPkts }),
		field(1<<15, most32, func(c *pc) *uint32 { return &c.PortRcvPkts }, func(c *ext) *uint64 { return &c.PortRcvPkts }),
		field(1<<16, most32, func(c *pc) *uint32 { return &c.PortXmitWait }, func(c *ext) *uint64 { return &c.PortXmitWait }),
		field(1<<17, most16, func(c *pc) *uint16 { return &c.QP1Dropped }, func(c *ext) *uint64 { return &c.QP1Dropped }),
	}
}

package emu

import (
	"fmt"
	"time"

	"heddle/ib"
	"heddle/mad"
)

// Config is what a Subnet is made like. The zero Config is a good one.
type Config struct {
	// MLIDs is SwitchInfo:MulticastFDBCap of the switches for which the fabric
	// does not say: 0 means ib.NumMLIDs, all there are; a negative number a
	// switch without multicast.
	MLIDs int
	// LIDs is SwitchInfo:LinearFDBCap; 0 means all 49,152 unicast LIDs.
	LIDs int
	// MTU is PortInfo:MTUCap, VLs the number of data VLs: 1, 2, 4, 8 or 15.
	// Zero means 4096 bytes, and 8.
	MTU ib.MTU
	VLs int
	// PKeys is NodeInfo:PartitionCap, the length of the P_Key tables; zero
	// means 32. SwitchPKeys is SwitchInfo:PartitionEnforcementCap, that of a
	// switch's external ports; zero means 32, -1 switches that enforce no
	// partitions, which saves a subnet manager two requests for each port.
	PKeys, SwitchPKeys int
	// EnhancedPort0 makes port 0 of all switches an enhanced one.
	EnhancedPort0 bool
	// KeepLIDs starts with the LIDs that the fabric's file tells; otherwise
	// ports have none until a subnet manager gives them.
	KeepLIDs bool

	// Hop is the time that a datagram takes from node to node, Agent that
	// which an agent takes for one request. While both are zero an answer is
	// there as soon as its request is sent.
	Hop, Agent time.Duration
	// Queue is how many SMPs may wait at one agent, beyond which they are
	// dropped; zero means no limit. It matters only where Agent is not zero.
	Queue int
	// Wire makes data packets take their time on links and in switches; where it
	// is nil they are carried as fast as possible, and only Hop and what is wrong
	// with a link delays them. Management datagrams heed it never.
	Wire *Wire
	// Seed is where all chance comes from.
	Seed uint64
}

// The largest values of Config.
const (
	maxPKeys       = 4096
	allUnicastLIDs = ib.NumUnicastLIDs + 1 // with LID 0, as tables count them
)

// filled checks the configuration and puts what zero means.
func (c Config) filled() (Config, error) {
	if c.MLIDs > ib.NumMLIDs {
		return c, fmt.Errorf("%d multicast LIDs, there are %d", c.MLIDs, ib.NumMLIDs)
	}
	if c.LIDs < 0 || c.LIDs > allUnicastLIDs {
		return c, fmt.Errorf("%d LIDs, want 1 to %d", c.LIDs, allUnicastLIDs)
	}
	if c.PKeys < 0 || c.PKeys > maxPKeys || c.SwitchPKeys > maxPKeys {
		return c, fmt.Errorf("%d P_Keys, %d in switches, want 1 to %d", c.PKeys, c.SwitchPKeys, maxPKeys)
	}
	if c.Hop < 0 || c.Agent < 0 || c.Queue < 0 {
		return c, fmt.Errorf("negative time or queue: hop %v, agent %v, queue %d", c.Hop, c.Agent, c.Queue)
	}
	if c.Wire != nil {
		if err := c.Wire.check(); err != nil {
			return c, err
		}
	}
	c.MLIDs = fill(c.MLIDs, ib.NumMLIDs)
	c.LIDs = fill(c.LIDs, allUnicastLIDs)
	c.MTU = fill(c.MTU, ib.MTU4096)
	c.VLs = fill(c.VLs, 8)
	c.PKeys = fill(c.PKeys, 32)
	c.SwitchPKeys = max(fill(c.SwitchPKeys, 32), 0)
	if !c.MTU.IsValid() || dataVLs(c.VLs) == 0 {
		return c, fmt.Errorf("MTU %v and %d VLs, want 256 to 4096, and 1, 2, 4, 8 or 15", c.MTU, c.VLs)
	}
	return c, nil
}

// fill puts what zero means.
func fill[T comparable](v, zero T) T {
	if v == *new(T) {
		return zero
	}
	return v
}

// dataVLs is PortInfo's code for a number of data VLs, 0 where it has none.
func dataVLs(n int) mad.DataVLs {
	for code := mad.DataVLs1; code <= mad.DataVLs15; code++ {
		if code.Lanes() == n {
			return code
		}
	}
	return 0
}

package emu

import (
	"fmt"
	"strings"
)

// Loss is why a data packet, or one copy of a multicast packet, came to
// nothing. Each is counted in Data.Lost and, as far as there is one, in a
// counter of the port where it happened.
type Loss uint8

// The losses.
const (
	noLoss Loss = iota
	// LossDown: the port that it had to leave by has no link or is not Active
	// (PortXmitDiscards).
	LossDown
	// LossInactive: the port that it came to is not Active (PortRcvErrors).
	LossInactive
	// LossRoute: no table leads to its DLID (PortRcvSwitchRelayErrors).
	LossRoute
	// LossBack: the tables lead back where it came from, or nowhere else
	// (PortRcvSwitchRelayErrors).
	LossBack
	// LossHops: the tables lead in a circle (PortXmitDiscards).
	LossHops
	// LossLane: its SL has no VL on the way on (PortRcvSwitchRelayErrors; at its
	// sender PortXmitDiscards).
	LossLane
	// LossKey: the P_Key is not one of a port that enforces partitions
	// (PortRcvConstraintErrors, PortXmitConstraintErrors).
	LossKey
	// LossRaw: a raw packet at a port that filters them (as LossKey).
	LossRaw
	// LossOld: it was first in a queue for longer than PortInfo:HOQLife
	// (PortXmitDiscards).
	LossOld
	// LossLink: the link damaged it, or went down under it (PortRcvErrors).
	LossLink
	// LossStray: the port that it came to does not have its DLID
	// (PortRcvErrors).
	LossStray
	// LossUnclaimed: nobody is attached at the port that it came to (no counter
	// of the port).
	LossUnclaimed

	// NumLosses is one more than the last of them.
	NumLosses
)

// String names the loss.
func (l Loss) String() string {
	names := [NumLosses]string{
		"none", "port down", "port not active", "no route", "way back", "circle", "no lane", "partition", "raw packet",
		"too old", "link", "stray", "unclaimed",
	}
	if l >= NumLosses {
		return fmt.Sprintf("loss(%d)", uint8(l))
	}
	return names[l]
}

// Data counts what became of data packets. Sent and Copied together are
// Delivered, all that were Lost, and those on their way.
type Data struct {
	// Sent counts the packets of hosts, Copied those that switches and links made
	// of them in addition, Delivered those that came to hosts.
	Sent, Copied, Delivered uint64
	Lost                    [NumLosses]uint64
}

// AllLost is the sum of all losses.
func (d *Data) AllLost() (n uint64) {
	for _, lost := range d.Lost {
		n += lost
	}
	return n
}

// why lists the losses for people, in brackets.
func (d *Data) why() string {
	var parts []string
	for why, n := range d.Lost {
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %v", n, Loss(why)))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return " (" + strings.Join(parts, ", ") + ")"
}

// lost counts a loss that happened at a port: where a packet came in, or where
// it was to go out.
func (s *Subnet) lost(x *port, why Loss, out bool) {
	s.data.stats.Lost[why]++
	c := &x.counters.total
	switch why {
	case LossInactive, LossStray, LossLink:
		c.PortRcvErrors++
	case LossRoute, LossBack, LossLane:
		if out {
			c.PortXmitDiscards++
		} else {
			c.PortRcvSwitchRelayErrors++
		}
	case LossKey, LossRaw:
		if out {
			c.PortXmitConstraintErrors++
		} else {
			c.PortRcvConstraintErrors++
		}
	case LossDown, LossHops, LossOld:
		c.PortXmitDiscards++
	case noLoss, LossUnclaimed, NumLosses:
	}
}
